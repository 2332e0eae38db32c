"""From the words of a launch to `ServerArguments`: configuration file, flag table, defaults."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from engine.check.flags.config_file import merge, unread_problem
from engine.check.flags.parser import parse
from engine.check.flags.release import Release
from engine.check.flags.table import FlagTable, flag_table
from engine.check.records import FlagProblem, FlagValue, Launch, Place, ServerArguments


def read_arguments(launch: Launch, release: Release, folders: Sequence[Path] = ()) -> ServerArguments:
    """What SGLang's own parser makes of the words; a relative `--config` file is looked for in `folders`."""
    table = flag_table(release.name)
    merged = merge(launch.arguments, table, folders, mounts=launch.mounts, elsewhere=launch.elsewhere)
    parsed = parse(merged.arguments, table, merged.config_count)
    unread = unread_problem(launch.arguments, table)
    problems = [*parsed.problems, *merged.problems, *([unread] if unread else []), *_detached(launch)]
    return ServerArguments(
        release=release.named or release.name,
        release_known=release.known,
        flags={**_absent(table, parsed.unknown_words), **parsed.flags},
        problems=tuple(problems),
    )


def live_arguments(server_info: Mapping[str, Any], release: Release, source: str) -> ServerArguments:
    """The resolved flags that a running server or a log reports; those that equal the default count as not given."""
    table = flag_table(release.name)
    flags = _defaults(table)
    for name, value in server_info.items():
        flag = table.by_dest.get(name)
        if flag is not None and value != flag.default:
            flags[name] = FlagValue(name=name, value=value, origin="live", spelled=flag.options[0], place=Place(source))
    return ServerArguments(release=release.named or release.name, release_known=release.known, flags=flags)


def _defaults(table: FlagTable) -> dict[str, FlagValue]:
    return {
        dest: FlagValue(name=dest, value=flag.default, origin="default")
        for dest, flag in table.by_dest.items()
        if flag.action != "help"
    }


def _absent(table: FlagTable, unknown_words: tuple[str, ...]) -> dict[str, FlagValue]:
    """Flags that are not given; the speculative ones are not known where a variable may hold them (`"$@"`)."""
    flags = _defaults(table)
    if not unknown_words:
        return flags
    return {
        dest: msgspec.structs.replace(flag, unresolved=unknown_words) if dest.startswith("speculative_") else flag
        for dest, flag in flags.items()
    }


def _detached(launch: Launch) -> list[FlagProblem]:
    return [
        FlagProblem(
            kind="detached",
            spelled=argument.text,
            message=f"{argument.text} is not part of the command: the line before it does not end in a backslash",
            place=argument.place,
        )
        for argument in launch.detached
    ]
