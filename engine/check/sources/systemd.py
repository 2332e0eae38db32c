"""systemd units: `ExecStart=` with `Environment=`, continued lines and comments between them."""

import re
from pathlib import Path

from engine.check.bounded_file import read_text
from engine.check.errors import SourceUnreadable
from engine.check.records import Launch
from engine.check.sources.invocation import launches_in
from engine.check.sources.shell import shell_commands
from engine.check.sources.text import SourceText, Text, joined, literal

SETTING = re.compile(r"^\s*(?P<key>[A-Za-z]+)\s*=\s*")
ASSIGNMENT = re.compile(r"""(?:"(\w+)=((?:[^"\\]|\\.)*)"|'(\w+)=([^']*)'|(\w+)=(\S*))""")
EXEC_PREFIXES = "-@:+!|"


def read_unit(source: SourceText, home: str) -> list[Launch]:
    """The servers that a unit starts."""
    environment: dict[str, str] = {}
    folder: Path | None = None
    starts: list[Text] = []
    for key, value in _settings(source):
        match key:
            case "Environment":
                environment.update(_assignments(value.characters))
            case "EnvironmentFile":
                environment.update(_environment_file(value.characters.strip()))
            case "WorkingDirectory":
                folder = Path(value.characters.strip().lstrip("-").replace("~", home).replace("%h", home))
            case "ExecStart" | "ExecStartPre":
                starts.append(_without_prefixes(value))
    found: list[Launch] = []
    for start in starts:
        commands = shell_commands(source, {**environment, "HOME": environment.get("HOME", home)}, folder, start)
        for launch in launches_in(commands):
            found.append(_surrounded(launch, environment, folder))
    return found


def is_unit(text: str) -> bool:
    """Whether a text looks like a systemd unit."""
    return re.search(r"^\[Service\]", text, re.MULTILINE) is not None and "ExecStart" in text


def environment_file(text: str) -> dict[str, str]:
    """`NAME=value` lines, as `EnvironmentFile=` and `docker --env-file` read them."""
    found = {}
    for line in text.splitlines():
        name, equals, value = line.strip().partition("=")
        if equals and re.fullmatch(r"\w+", name):
            found[name] = value.strip().strip("\"'")
    return found


def _surrounded(launch: Launch, environment: dict[str, str], folder: Path | None) -> Launch:
    import msgspec

    working = str(folder) if folder is not None and launch.working_folder is None else launch.working_folder
    return msgspec.structs.replace(launch, environment={**environment, **launch.environment}, working_folder=working)


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
            if setting is None or section != "[Service]":
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
    if not path.is_file():
        return {}
    try:
        return environment_file(read_text(path))
    except SourceUnreadable:
        return {}
