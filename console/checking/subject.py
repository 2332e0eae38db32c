"""What somebody typed into the Check screen, and everything the checker says of it."""

import shlex
from pathlib import Path

import msgspec

from engine.check.collect import Collection
from engine.check.records import Finding
from engine.check.report.command_change import change_of, corrected_arguments
from engine.check.report.result import Checked, Outcome, deployment_name


class FindingRow(msgspec.Struct, frozen=True):
    """One finding, and the deployment that it is about."""

    place: int
    """Place among all findings."""
    finding: Finding
    deployment: int
    name: str


def check_subject(text: str) -> Outcome:
    """Check a file, a URL, a process id, a command, or, where nothing was typed, every server that runs here."""
    collection = Collection()
    words = _words(text)
    if not words:
        collection.add_running()
    elif len(words) == 1 and words[0].startswith(("http://", "https://")):
        collection.add_server(words[0])
    elif len(words) == 1 and words[0].isdecimal():
        collection.add_process(int(words[0]))
    elif len(words) == 1:
        collection.add_file(str(Path(words[0]).expanduser()))
    else:
        collection.add_command(words)
    return collection.outcome()


def rows(outcome: Outcome) -> list[FindingRow]:
    """All findings, deployment by deployment, errors first."""
    found = [(index, one, finding) for index, one in enumerate(outcome.checked) for finding in one.findings]
    return [
        FindingRow(place, finding, index, deployment_name(one.deployment))
        for place, (index, one, finding) in enumerate(found)
    ]


def corrected_command(one: Checked) -> str | None:
    """The launch command with every fix in it; `None` where there is no command, or nothing to change."""
    launch, change = one.deployment.launch, change_of(one)
    if launch is None or change.is_empty():
        return None
    words = (*launch.program, *corrected_arguments(launch.arguments, change, one.deployment.arguments))
    environment = [f"{name}={shlex.quote(value)}" for name, value in change.set_environment.items()]
    return " ".join([*environment, shlex.join(word.text for word in words)])


def involved_paths(outcome: Outcome) -> set[Path]:
    """Files and folders whose change may change the verdict."""
    found: set[Path] = set()
    for one in outcome.checked:
        launch = one.deployment.launch
        if launch is not None and Path(launch.place.source).is_file():
            found.add(Path(launch.place.source))
        for model in (one.deployment.target, one.deployment.draft):
            if model is not None and model.folder is not None:
                found.add(Path(model.folder))
    return found


def _words(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError:
        return text.split()
