"""`--config FILE.yaml` as SGLang merges it (sglang 0.5.23, srt/utils/server_args_config_parser.py).

The merge runs only for the bare word `--config`; `--config=FILE` passes the parser and is never read.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from engine.check.bounded_file import read_text
from engine.check.errors import SourceUnreadable
from engine.check.flags.release import version_key
from engine.check.flags.table import Flag, FlagTable
from engine.check.flags.values import convert
from engine.check.paths import exists, host_path
from engine.check.records import Argument, FlagProblem, Place

CHECKS_ACTIONS_SINCE = version_key("0.5.8")
TAKES_VALUED_ACTIONS_SINCE = version_key("0.5.23")


class Merged(msgspec.Struct, frozen=True):
    """The words that the argument parser sees after the merge."""

    arguments: tuple[Argument, ...]
    config_count: int = 0
    """How many of them, from the front, come from the file."""
    problems: tuple[FlagProblem, ...] = ()
    file: str | None = None


def merge(
    arguments: Sequence[Argument],
    table: FlagTable,
    folders: Sequence[Path],
    *,
    mounts: Sequence[tuple[str, str]] = (),
    elsewhere: bool = False,
) -> Merged:
    """Put the file's settings before the command line.

    Args:
        arguments: The words of the launch.
        table: Flags of its release.
        folders: Searched for a relative path, in order.
        mounts: Folders of its container: (path inside, path on the host).
        elsewhere: The server starts in a container or on another host, so the file need not be here.
    """
    whole = tuple(arguments)
    at = [index for index, argument in enumerate(whole) if argument.text == "--config"]
    if not at or "config" not in table.by_dest:
        return Merged(whole)
    rest = (*whole[: at[0]], *whole[at[0] + 2 :])
    if len(at) > 1:
        return Merged(rest, 0, (_problem(whole[at[1]].place, "more than one --config: only one is allowed"),))
    if at[0] == len(whole) - 1:
        return Merged(rest, 0, (_problem(whole[at[0]].place, "--config names no file"),))
    named = whole[at[0] + 1]
    if named.unresolved:
        return Merged(rest)
    path = found_file(host_path(named.text, mounts), folders)
    if elsewhere and not exists(path):
        return _out_of_reach(named, rest)
    try:
        return _with_file(path, rest, table)
    except SourceUnreadable as error:
        return Merged(rest, 0, (_problem(error.place, f"--config {named.text}: {error.message}"),), str(path))


def _out_of_reach(named: Argument, rest: tuple[Argument, ...]) -> Merged:
    """A file inside a container: any flag may stand in it."""
    unknown = msgspec.structs.replace(named, unresolved=(f"--config {named.text}",))
    message = f"--config {named.text} lies in a container or on another host: its settings are unchecked"
    problem = FlagProblem(kind="config_elsewhere", spelled="--config", message=message, place=named.place)
    return Merged((unknown, *rest), 1, (problem,))


def unread_problem(arguments: Sequence[Argument], table: FlagTable) -> FlagProblem | None:
    """The `--config` that passes the parser though no file is read: `--config=FILE`, or an abbreviation."""
    if "config" not in table.by_dest or any(argument.text == "--config" for argument in arguments):
        return None
    for argument in arguments:
        head, equals, file = argument.text.partition("=")
        if (head == "--config" and equals) or (
            len(head) > 2 and "--config".startswith(head) and head not in table.spellings
        ):
            matches = [known for known in table.spellings if known.startswith(head)]
            if matches == ["--config"] or head == "--config":
                what = (
                    f"{argument.text} is accepted and never read: only the bare word --config followed by the file is"
                )
                return FlagProblem(
                    kind="config_unread",
                    spelled=argument.text,
                    message=what,
                    nearest=f"--config {file}",
                    place=argument.place,
                )
    return None


def found_file(name: str, folders: Sequence[Path]) -> Path:
    """The first folder's file that exists; the first candidate where none does."""
    candidates = [folder / name for folder in folders] or [Path(name)]
    return next((path for path in candidates if exists(path)), candidates[0])


def _with_file(path: Path, rest: tuple[Argument, ...], table: FlagTable) -> Merged:
    from engine.check.bounded_yaml import Node, documents, entries, is_mapping, place_of

    if path.suffix.lower() not in (".yaml", ".yml"):
        raise SourceUnreadable(
            f"the file must end in .yaml or .yml, not {path.suffix or 'without suffix'}", Place(str(path))
        )
    roots: list[Node] = documents(read_text(path), str(path))
    if len(roots) > 1:
        raise SourceUnreadable("more than one YAML document", place_of(roots[1], str(path)))
    if roots and not is_mapping(roots[0]):
        raise SourceUnreadable("must hold a mapping of flags to values", place_of(roots[0], str(path)))
    words: list[Argument] = []
    problems: list[FlagProblem] = []
    for key, key_node, value_node in entries(roots[0] if roots else None):
        key_place, value_place = place_of(key_node, str(path)), place_of(value_node, str(path))
        reason = _unsupported(key, table)
        if reason is not None:
            problems.append(_problem(key_place, reason))
            continue
        dashed = key.replace("_", "-")
        if dashed != key and f"--{key}" not in table.spellings and f"--{dashed}" in table.spellings:
            problems.append(
                _problem(key_place, f"'{key}' is refused: the key is taken as it is spelt; write '{dashed}'")
            )
            key = dashed
        found = _words(key, value_node, key_place, value_place, table)
        if _is_null_number(key, found, table):
            problems.append(_problem(value_place, f"'{key}: null' becomes the word None, which is no number"))
            found[1] = msgspec.structs.replace(found[1], unresolved=("None",))
        words.extend(found)
    return Merged((*words, *rest), len(words), tuple(problems), str(path))


def _words(key: str, value_node: Any, key_place: Place, value_place: Place, table: FlagTable) -> list[Argument]:
    from engine.check.bounded_yaml import value_of

    value = value_of(value_node, value_place.source)
    flag = Argument(f"--{key}", key_place)
    if isinstance(value, bool):
        if _is_switch(key, table) or not _checks_actions(table):
            return [flag] if value else []
        return [flag, Argument(str(value).lower(), value_place)]
    if isinstance(value, list):
        return [flag, *(Argument(str(item), value_place) for item in value)] if value else []
    if isinstance(value, dict):
        return [flag, Argument(json.dumps(value, default=str), value_place)]
    return [flag, Argument(str(value), value_place)]


def _is_null_number(key: str, words: list[Argument], table: FlagTable) -> bool:
    flag = table.spellings.get(f"--{key}")
    if len(words) != 2 or words[1].text != "None" or flag is None:
        return False
    try:
        convert(flag.type, "None")
    except (ValueError, ArithmeticError):
        return True
    return False


def _checks_actions(table: FlagTable) -> bool:
    return version_key(table.release) >= CHECKS_ACTIONS_SINCE


def _is_plain_switch(flag: Flag) -> bool:
    return flag.action == "store_true" and flag.successor is None


def _named(key: str, table: FlagTable) -> list[Flag]:
    """Flags that a key stands for, underscores and dashes alike."""
    wanted = key.replace("-", "_")
    spelled = version_key(table.release) >= TAKES_VALUED_ACTIONS_SINCE
    return [
        flag
        for flag in table.flags
        if flag.dest == wanted or (spelled and any(o[2:].replace("-", "_") == wanted for o in flag.options))
    ]


def _is_switch(key: str, table: FlagTable) -> bool:
    return any(_is_plain_switch(flag) for flag in _named(key, table))


def _unsupported(key: str, table: FlagTable) -> str | None:
    named = [flag for flag in _named(key, table) if flag.dest not in ("config", "help")]
    if not _checks_actions(table) or not named:
        return None
    if any(_is_plain_switch(flag) or flag.action == "store" for flag in named):
        return None
    return f"'{key}' cannot be set in a configuration file: the server stops with 'Unsupported config option'"


def _problem(place: Place, message: str) -> FlagProblem:
    return FlagProblem(kind="config_invalid", spelled="--config", message=message, place=place)
