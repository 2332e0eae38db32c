"""What the checker says of a launch that is about to be made."""

from pathlib import Path

from engine.check.errors import SourceUnreadable
from engine.check.records import Deployment, Finding
from engine.check.report.result import Outcome
from engine.jobs.recipes.command import Launch
from engine.jobs.recipes.host_checks import Problem
from engine.jobs.recipes.interpreters import FoundInterpreter
from engine.jobs.recipes.records import Recipe

UNCHECKED = "check"
"""The rule's name where the checker could not look."""
REMEDY = "give SpecForge's run.yaml"


def findings_of(recipe: Recipe, launch: Launch, interpreter: FoundInterpreter | None) -> tuple[Problem, ...]:
    """Findings as problems, errors first; nothing where the recipe asks for no check. Reads files: not for a screen's
    own thread."""
    if recipe.check is None:
        return ()
    if recipe.check.what == "training":
        name = str(launch.parameters.get(recipe.check.file or "", ""))
        return _training_problems(Path(launch.working_dir) / name)
    from engine.check.collect import Collection

    collection = Collection(_known_release(recipe, interpreter))
    collection.add_command(launch.argv)
    return problems_of(collection.outcome())


def problems_of(outcome: Outcome) -> tuple[Problem, ...]:
    """Findings of the checker as problems of a launch; each rule once a finding."""
    unchecked = [Problem(UNCHECKED, "warning", f"{one.source}: {one.message}", one.remedy) for one in outcome.unchecked]
    found = [_problem(finding) for checked in outcome.checked for finding in checked.findings]
    return tuple(sorted([*found, *unchecked], key=lambda one: ("error", "warning", "info").index(one.severity)))


def _training_problems(path: Path) -> tuple[Problem, ...]:
    """What a training recipe says, beside the target that it names."""
    from engine.check.bounded_file import read_text
    from engine.check.bounded_yaml import documents, value_of
    from engine.check.models.reading import read_model
    from engine.check.report.result import check_deployment

    try:
        (root, *_) = [*documents(read_text(path), str(path)), None]
        found = value_of(root, str(path)) if root is not None else None
    except SourceUnreadable as error:
        return (Problem(UNCHECKED, "error", f"{path}: {error.message}", error.remedy or REMEDY),)
    if not isinstance(found, dict):
        return (Problem(UNCHECKED, "error", f"{path} is no mapping of settings", REMEDY),)
    section = found.get("model")
    named = section.get("target_model_path") if isinstance(section, dict) else None
    target = read_model(named, "target", None, path.parent) if isinstance(named, str) else None
    checked = check_deployment(Deployment(launch=None, arguments=None, target=target, training=found))
    return tuple(_problem(finding) for finding in checked.findings if finding.rule.startswith("train-"))


def _problem(finding: Finding) -> Problem:
    return Problem(finding.rule, finding.severity, finding.title, finding.fix.text if finding.fix else "")


def _known_release(recipe: Recipe, interpreter: FoundInterpreter | None) -> str | None:
    """The release that will run: what the interpreter has, where the checker knows it."""
    if interpreter is None or interpreter.package != "sglang" or interpreter.package_version is None:
        return None
    from engine.check.flags.table import tables

    return interpreter.package_version if interpreter.package_version in tables().releases else None
