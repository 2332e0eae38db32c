"""systemd units and Quadlet files: what they start, `Environment=`, continued lines and comments between them."""

import re
from pathlib import Path

import msgspec

from engine.check.bounded_file import read_text
from engine.check.errors import SourceUnreadable
from engine.check.paths import is_file
from engine.check.records import Launch
from engine.check.sources.containers import bind, release_in
from engine.check.sources.invocation import launches_in
from engine.check.sources.shell import shell_commands
from engine.check.sources.text import SourceText, Text, joined, literal

SETTING = re.compile(r"^\s*(?P<key>[A-Za-z]+)\s*=\s*")
ASSIGNMENT = re.compile(r"""(?:"(\w+)=((?:[^"\\]|\\.)*)"|'(\w+)=([^']*)'|(\w+)=(\S*))""")
EXEC_PREFIXES = "-@:+!|"


class _Service(msgspec.Struct):
    """What the settings of one unit add up to."""

    environment: dict[str, str] = {}
    folder: Path | None = None
    starts: list[Text] = []
    image: str = ""
    mounts: list[tuple[str, str]] = []


def read_unit(source: SourceText, home: str) -> list[Launch]:
    """The servers that a unit, or a Podman Quadlet file, starts."""
    service = _Service()
    for key, value in _settings(source):
        _take(service, key, value, home)
    environment = service.environment
    found: list[Launch] = []
    for start in service.starts:
        variables = {**environment, "HOME": environment.get("HOME", home)}
        for launch in launches_in(shell_commands(source, variables, service.folder, start)):
            found.append(_surrounded(launch, service))
    return found


def _take(service: _Service, key: str, value: Text, home: str) -> None:
    text = value.characters.strip()
    match key:
        case "Environment":
            service.environment.update(_assignments(value.characters))
        case "EnvironmentFile":
            service.environment.update(_environment_file(text))
        case "WorkingDirectory":
            service.folder = Path(text.lstrip("-").replace("~", home).replace("%h", home))
        case "ExecStart" if not text:
            service.starts.clear()
        case "ExecStart" | "ExecStartPre" | "Exec":
            service.starts.append(_without_prefixes(value))
        case "Image":
            service.image = text
        case "Volume" if (mount := bind(text)) is not None:
            service.mounts.append(mount)


def is_unit(text: str) -> bool:
    """Whether a text looks like a systemd unit."""
    service = re.search(r"^\[Service\]", text, re.MULTILINE) is not None and "ExecStart" in text
    return service or re.search(r"^\[Container\]\s*$", text, re.MULTILINE) is not None


def environment_file(text: str) -> dict[str, str]:
    """`NAME=value` lines, as `EnvironmentFile=` and `docker --env-file` read them."""
    found = {}
    for line in text.splitlines():
        name, equals, value = line.strip().partition("=")
        if equals and re.fullmatch(r"\w+", name):
            found[name] = value.strip().strip("\"'")
    return found


def _surrounded(launch: Launch, service: _Service) -> Launch:
    folder = str(service.folder) if service.folder is not None else None
    return msgspec.structs.replace(
        launch,
        environment={**service.environment, **launch.environment},
        working_folder=launch.working_folder or folder,
        mounts=(*launch.mounts, *service.mounts),
        release_hint=launch.release_hint or release_in([service.image]),
        elsewhere=launch.elsewhere or bool(service.image),
    )


def _settings(source: SourceText) -> list[tuple[str, Text]]:
    """Keys and values of the `[Service]` section; a continued value keeps its backslashes and loses its comments."""
    found: list[tuple[str, Text]] = []
    at = 0
    section = ""
    key: str | None = None
    parts: list[Text] = []
    for line in source.text.splitlines(keepends=True):
        start, at = at, at + len(line)
        stripped = line.strip()
        if stripped.startswith(("#", ";")) or (key is None and not stripped):
            continue
        if key is None and stripped.startswith("["):
            section = stripped
            continue
        if key is None:
            setting = SETTING.match(line)
            if setting is None or section not in ("[Service]", "[Container]"):
                continue
            key, parts = setting["key"], []
            start += setting.end()
            line = line[setting.end() :]
        parts.append(literal(line, start))
        if not line.rstrip("\r\n").endswith("\\"):
            found.append((key, joined(parts)))
            key = None
    if key is not None:
        found.append((key, joined(parts)))
    return found


def _without_prefixes(value: Text) -> Text:
    text = value.characters
    skip = len(text) - len(text.lstrip().lstrip(EXEC_PREFIXES))
    return value.part(skip)


def _assignments(value: str) -> dict[str, str]:
    found = {}
    for match in ASSIGNMENT.finditer(value.replace("\\\n", " ")):
        name = match[1] or match[3] or match[5]
        found[name] = match[2] if match[1] else match[4] if match[3] else match[6]
    return found


def _environment_file(name: str) -> dict[str, str]:
    path = Path(name.lstrip("-"))
    if not is_file(path):
        return {}
    try:
        return environment_file(read_text(path))
    except SourceUnreadable:
        return {}
