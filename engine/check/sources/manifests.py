"""docker-compose files and Kubernetes manifests: every mapping that holds a command, and scripts in any string."""

import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import msgspec

from engine.check.bounded_file import read_text
from engine.check.bounded_yaml import MAX_NODES, Node, child, documents, entries, items, place_of, scalar
from engine.check.errors import SourceUnreadable
from engine.check.paths import is_file
from engine.check.records import Launch
from engine.check.sources.containers import VLLM_IMAGE, bind, release_in
from engine.check.sources.invocation import launches_in
from engine.check.sources.shell import commands_of_words, shell_commands
from engine.check.sources.shell_expansion import typed
from engine.check.sources.shell_state import ShellCommand
from engine.check.sources.shell_strings import STARTS_SERVER
from engine.check.sources.systemd import environment_file
from engine.check.sources.text import SourceText, Text, placed

MAX_SERVERS = 256
FURTHER_ARGUMENTS = {"extraargs", "additionalargs", "serverargs"}
"""Keys of chart values beside `command`, without underscores and in lower case."""
COMPOSE_VARIABLE = re.compile(r"\$\$|\$\{(?P<braced>\w+)(?::?-(?P<default>[^}]*))?\}|\$(?P<bare>\w+)")
KUBERNETES_VARIABLE = re.compile(r"\$\((?P<braced>[\w.-]+)\)")


def read_manifest(source: SourceText, folder: Path | None, home: str) -> list[Launch]:
    """The servers that a YAML text starts, in document order; raises `SourceUnreadable`."""
    found: list[Launch] = []
    beside = _environment_beside(folder)
    for root in documents(source.text, source.name):
        launches = _of_document(source, root, folder, home, beside)
        found.extend(launches or _scripts(source, root, home))
    return found


def is_server_configuration(text: str, name: str) -> bool:
    """Whether a YAML text is itself a `--config` file: a flat mapping with flags of the server."""
    roots = documents(text, name)
    keys = [key for key, _, _ in entries(roots[0])] if len(roots) == 1 else []
    return any(key.replace("_", "-") in ("model-path", "model") or key.startswith("speculative") for key in keys)


class _Surroundings(msgspec.Struct, frozen=True):
    environment: Mapping[str, str]
    """What the container gets."""
    variables: Mapping[str, str]
    """What `${NAME}` in the file itself stands for."""
    mounts: tuple[tuple[str, str], ...]
    image: str
    folder: str | None


def _environment_beside(folder: Path | None) -> Mapping[str, str]:
    """The `.env` file that docker compose reads for the variables of a compose file."""
    return _read_environment(folder / ".env") if folder is not None else {}


def _read_environment(path: Path) -> Mapping[str, str]:
    try:
        return environment_file(read_text(path)) if is_file(path) else {}
    except (SourceUnreadable, OSError):
        return {}


def _of_document(
    source: SourceText, root: Node, folder: Path | None, home: str, beside: Mapping[str, str]
) -> list[Launch]:
    services = child(root, "services")
    compose = services is not None
    host_paths = dict(_host_paths(root))
    found: list[Launch] = []
    for node in _mappings(root if services is None else services):
        keys = {key for key, _, _ in entries(node)}
        if not keys & {"command", "args", "entrypoint"}:
            continue
        around = _surroundings(node, compose, host_paths, folder, beside)
        if len(found) > MAX_SERVERS:
            raise SourceUnreadable(f"more than {MAX_SERVERS} servers in one file", place_of(node, source.name))
        for launch in launches_in(_commands(source, node, around, compose, home)):
            mounts = (*launch.mounts, *around.mounts)
            release = launch.release_hint or release_in([around.image])
            working = launch.working_folder or around.folder
            found.append(
                msgspec.structs.replace(
                    launch, mounts=mounts, release_hint=release, working_folder=working, elsewhere=True
                )
            )
    return found


def _commands(source: SourceText, node: Node, around: _Surroundings, compose: bool, home: str) -> list[ShellCommand]:
    further = [key for key, _, _ in entries(node) if key.lower().replace("_", "") in FURTHER_ARGUMENTS]
    parts = [child(node, key) for key in ("entrypoint", "command", "args", *further)]
    expand = _expander(around, COMPOSE_VARIABLE if compose else KUBERNETES_VARIABLE)
    if compose and len([part for part in parts if part is not None]) == 1:
        only = next(part for part in parts if part is not None)
        text = scalar(only)
        if text is not None:
            variables = {"HOME": home, **around.environment}
            return [
                msgspec.structs.replace(command, exported=around.environment)
                for command in shell_commands(source, variables, None, expand(_scalar_text(source, only)))
            ]
    words = [expand(word) for part in parts for word in _words(source, part)]
    if VLLM_IMAGE.search(around.image) and words and words[0].characters.startswith("--"):
        words.insert(0, typed(around.image))
    return commands_of_words(source, words, around.environment) if words else []


def _words(source: SourceText, node: Node | None) -> list[Text]:
    if node is None:
        return []
    if scalar(node) is not None:
        script = _scalar_text(source, node)
        return [word for command in shell_commands(source, {}, None, script) for word in command.words]
    return [_scalar_text(source, item) for item in items(node) if scalar(item) is not None]


def _scalar_text(source: SourceText, node: Node) -> Text:
    start, end = node.start_mark.index, node.end_mark.index
    return placed(scalar(node) or "", source.text[start:end], start)


def _surroundings(
    node: Node, compose: bool, host_paths: Mapping[str, str], folder: Path | None, beside: Mapping[str, str]
) -> _Surroundings:
    environment = _environment_files(node, folder) if compose else {}
    listed = child(node, "environment") if compose else child(node, "env")
    for key, _, value in entries(listed):
        environment[key] = scalar(value) or ""
    for item in items(listed):
        text = scalar(item)
        name = text.partition("=")[0] if text is not None else scalar(child(item, "name"))
        setting = text.partition("=")[2] if text is not None else scalar(child(item, "value"))
        if name and setting is not None:
            environment[name] = setting
    mounts = [bind(text) for item in items(child(node, "volumes")) if (text := scalar(item))]
    for item in items(child(node, "volumes")):
        inside, host = scalar(child(item, "target")), scalar(child(item, "source"))
        mounts.append((inside, host) if inside and host else None)
    for item in items(child(node, "volumeMounts")):
        name, inside = scalar(child(item, "name")), scalar(child(item, "mountPath"))
        mounts.append((inside, host_paths[name]) if name in host_paths and inside and name else None)
    working = scalar(child(node, "working_dir")) or scalar(child(node, "workingDir"))
    resolved = tuple(_from(folder, mount) for mount in mounts if mount is not None)
    if compose:
        environment = {name: _interpolated(value, beside) for name, value in environment.items()}
    variables = {**environment, **beside} if compose else environment
    return _Surroundings(environment, variables, resolved, scalar(child(node, "image")) or "", working)


def _environment_files(node: Node, folder: Path | None) -> dict[str, str]:
    """`env_file:` of a compose service: a name, a list of names, or of mappings with `path`."""
    given = child(node, "env_file")
    names = [scalar(given), *(scalar(item) or scalar(child(item, "path")) for item in items(given))]
    found: dict[str, str] = {}
    for name in filter(None, names):
        found.update(_read_environment((folder or Path()) / name))
    return found


def _interpolated(value: str, variables: Mapping[str, str]) -> str:
    def replaced(match: re.Match[str]) -> str:
        if match[0] == "$$":
            return "$"
        name = match["braced"] or match["bare"] or ""
        found = variables.get(name, match["default"])
        return match[0] if found is None else found

    return COMPOSE_VARIABLE.sub(replaced, value)


def _from(folder: Path | None, mount: tuple[str, str]) -> tuple[str, str]:
    inside, host = mount
    return (inside, str(folder / host)) if folder is not None and host.startswith(".") else (inside, host)


def _host_paths(root: Node) -> Iterator[tuple[str, str]]:
    for node in _mappings(root):
        name, path = scalar(child(node, "name")), scalar(child(node, "hostPath", "path"))
        if name and path:
            yield name, path


def _expander(around: _Surroundings, pattern: re.Pattern[str]) -> Callable[[Text], Text]:
    """Replaces variables in a word; one without a value stays as written and is named."""

    def expand(word: Text) -> Text:
        parts: list[Text] = []
        at = 0
        for match in pattern.finditer(word.characters):
            parts.append(word.part(at, match.start()))
            parts.append(_substitute(word, match, around))
            at = match.end()
        if not parts:
            return word
        parts.append(word.part(at))
        whole = parts[0]
        for part in parts[1:]:
            whole = whole + part
        return whole

    return expand


def _substitute(word: Text, match: re.Match[str], around: _Surroundings) -> Text:
    if match[0] == "$$":
        return typed("$")
    groups = match.groupdict()
    name = groups["braced"] or groups.get("bare") or ""
    value = around.variables.get(name, groups.get("default"))
    if value is not None:
        return typed(value)
    return msgspec.structs.replace(word.part(match.start(), match.end()), unresolved=(name,))


def _mappings(root: Node) -> Iterator[Node]:
    """Every mapping of a document, in order; a node shared by aliases once."""
    seen: set[int] = set()
    stack = [root]
    while stack and len(seen) < MAX_NODES:
        node = stack.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        pairs = [value for _, _, value in entries(node)]
        if pairs:
            yield node
        stack.extend(reversed([*pairs, *items(node)]))


def _scripts(source: SourceText, root: Node, home: str) -> list[Launch]:
    """Launches in script strings of any other YAML (a workflow, an Ansible task)."""
    found: list[Launch] = []
    for node in _mappings(root):
        for _, _, value in entries(node):
            text = scalar(value)
            if text is not None and STARTS_SERVER.search(text):
                found.extend(launches_in(shell_commands(source, {"HOME": home}, None, _scalar_text(source, value))))
    return found
