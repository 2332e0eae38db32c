"""Dockerfiles: what the last ENTRYPOINT and CMD start, with the image's environment, folder and release."""

import re
from collections.abc import Iterator

import msgspec

from engine.check.records import Launch
from engine.check.sources.containers import release_in
from engine.check.sources.invocation import launches_in
from engine.check.sources.shell import commands_of_words, shell_commands
from engine.check.sources.text import SourceText, Text, joined, literal, placed

INSTRUCTION = re.compile(r"^\s*(?P<name>[A-Za-z]+)\s+")
ASSIGNMENT = re.compile(r"""(\w+)=(?:"((?:[^"\\]|\\.)*)"|(\S*))""")
FIRST = re.compile(r"\A(?:\s*#.*\n|\s*ARG\s.*\n|\s*\n)*\s*FROM\s+\S", re.IGNORECASE)


def is_dockerfile(text: str) -> bool:
    """Whether the first instruction is `FROM`."""
    return FIRST.match(text) is not None


def read_dockerfile(source: SourceText) -> list[Launch]:
    """The servers that a container of the last stage starts."""
    environment: dict[str, str] = {}
    release: str | None = None
    folder: str | None = None
    parts: dict[str, Text] = {}
    for name, value in _instructions(source):
        text = value.characters.strip()
        match name:
            case "FROM":
                release = release_in(text.split()) or release
                environment, folder, parts = {}, None, {}
            case "ENV" if "=" in text:
                environment.update({key: quoted or plain for key, quoted, plain in ASSIGNMENT.findall(text)})
            case "ENV":
                environment[text.partition(" ")[0]] = text.partition(" ")[2].strip()
            case "RUN":
                release = release_in(text.split()) or release
            case "WORKDIR":
                folder = text
            case "ENTRYPOINT" | "CMD":
                parts[name] = value
    return [
        msgspec.structs.replace(
            launch,
            environment={**environment, **launch.environment},
            release_hint=launch.release_hint or release,
            working_folder=launch.working_folder or folder,
            elsewhere=True,
        )
        for launch in _started(source, parts, environment)
    ]


def _started(source: SourceText, parts: dict[str, Text], environment: dict[str, str]) -> list[Launch]:
    """An entrypoint in shell form takes no command; one in exec form is followed by it."""
    entrypoint, command = parts.get("ENTRYPOINT"), parts.get("CMD")
    words = [_words(part) for part in (entrypoint, command) if part is not None]
    listed = [one for one in words if one is not None]
    first = entrypoint if entrypoint is not None else command
    if first is None:
        return []
    if words[0] is None:
        return launches_in(shell_commands(source, environment, None, first))
    return launches_in(commands_of_words(source, [word for one in listed for word in one], environment))


def _words(value: Text) -> list[Text] | None:
    """The words of `["a", "b"]`; `None` for the shell form."""
    try:
        found = msgspec.json.decode(value.characters.strip(), type=list[str])
    except (msgspec.DecodeError, RecursionError):
        return None
    words, at = [], 0
    for word in found:
        at = max(value.characters.find(word, at), 0)
        words.append(placed(word, value.characters[at:], value.offsets[at] if value.offsets else 0))
        at += len(word)
    return words


def _instructions(source: SourceText) -> Iterator[tuple[str, Text]]:
    """Names and values, continued lines joined, comments between them left out."""
    at = 0
    name: str | None = None
    parts: list[Text] = []
    for line in source.text.splitlines(keepends=True):
        start, at = at, at + len(line)
        if line.strip().startswith("#") or (name is not None and not line.strip()):
            continue
        if name is None:
            instruction = INSTRUCTION.match(line)
            if instruction is None:
                continue
            name, parts = instruction["name"].upper(), []
            start, line = start + instruction.end(), line[instruction.end() :]
        ended = not line.rstrip().endswith("\\")
        body = line if ended else line.rstrip()[:-1] + " "
        parts.append(literal(body, start))
        if ended:
            yield name, joined(parts)
            name = None
    if name is not None:
        yield name, joined(parts)
