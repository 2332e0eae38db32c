"""Corrected commands as unified diffs. Nothing is written or run.

A file is changed in place where each flag stands in it; otherwise (a process, a `--config` value, a variable from
elsewhere) the whole command is shown, a flag a line, before and after.
"""

import difflib
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from engine.check.paths import is_file
from engine.check.records import Argument, Launch, ServerArguments
from engine.check.report.command_change import (
    Change,
    change_of,
    corrected_arguments,
    end_of,
    head_of,
    is_flag,
    setting_of,
)
from engine.check.report.command_lines import flag_of
from engine.check.report.result import Checked


class Edit(msgspec.Struct, frozen=True):
    """A stretch of the source, from one word to another, and what stands there afterwards."""

    first: Argument
    last: Argument
    replacement: str


def fix_diffs(checked: Sequence[Checked]) -> str:
    """The diffs of several deployments; those of one file become one diff. Empty where no fix changes a command."""
    edits: dict[str, list[Edit]] = {}
    texts: dict[str, str] = {}
    whole: list[str] = []
    for one in checked:
        launch, change = one.deployment.launch, change_of(one)
        if launch is None or change.is_empty():
            continue
        found = _edits(launch, change, one.deployment.arguments)
        source = launch.place.source
        if found is None or _disagree(found, edits.get(source, [])):
            whole.append(_whole_command(one, launch, change))
            continue
        texts[source] = launch.source_text
        edits.setdefault(source, []).extend(edit for edit in found if edit not in edits.get(source, []))
    in_place = [_unified(texts[source], _edited(texts[source], listed), source) for source, listed in edits.items()]
    return "".join([*in_place, *whole])


def _disagree(new: Sequence[Edit], known: Sequence[Edit]) -> bool:
    """Whether two launches that share words want them changed in different ways."""
    return any(
        edit.first.place == other.first.place and edit.replacement != other.replacement
        for edit in new
        for other in known
    )


def _whole_command(one: Checked, launch: Launch, change: Change) -> str:
    corrected = corrected_arguments(launch.arguments, change, one.deployment.arguments)
    before = _as_lines(launch.program, launch.arguments, launch.environment, change, False)
    after = _as_lines(launch.program, corrected, launch.environment, change, True)
    return _unified(before, after, launch.place.source)


def _edits(launch: Launch, change: Change, arguments: ServerArguments | None) -> list[Edit] | None:
    """Changes in place; `None` where a flag that must change does not stand in the source."""
    if change.set_environment or change.drop_environment or not is_file(Path(launch.place.source)):
        return None
    lines = launch.source_text.split("\n")
    wanted = {setting_of(name, arguments): (name, value) for name, value in change.set_flags.items()}
    dropped = {setting_of(name, arguments) for name in change.drop_flags}
    edits: list[Edit] = []
    words = launch.arguments
    for index, word in enumerate(words):
        key = setting_of(head_of(word), arguments) if is_flag(word) else None
        if key not in wanted and key not in dropped:
            continue
        last = words[end_of(words, index) - 1]
        if not _stands_in(word, lines) or not _stands_in(last, lines) or word.place.line != last.place.line:
            return None
        name, value = wanted.get(str(key), ("", None))
        spelled = name if flag_of(name, arguments) is None else head_of(word)
        edits.append(Edit(word, last, _spelled(spelled, value) if key in wanted else ""))
    new = [
        name
        for name in change.set_flags
        if not any(
            setting_of(head_of(word), arguments) == setting_of(name, arguments) for word in words if is_flag(word)
        )
    ]
    anchor = next((word for word in reversed(words) if _stands_in(word, lines)), None)
    if new and anchor is None:
        return None
    if new and anchor is not None:
        _insert(anchor, " ".join(_spelled(name, change.set_flags[name]) for name in new), edits)
    return edits


def _insert(anchor: Argument, text: str, edits: list[Edit]) -> None:
    """Put new flags behind the last word, joined to an edit that ends there."""
    for index, edit in enumerate(edits):
        if edit.last.place == anchor.place:
            edits[index] = Edit(edit.first, edit.last, f"{edit.replacement} {text}".strip())
            return
    edits.append(Edit(anchor, anchor, f"{anchor.raw or anchor.text} {text}"))


def _edited(text: str, edits: Sequence[Edit]) -> str:
    lines = text.split("\n")
    for edit in sorted(edits, key=lambda edit: -(edit.first.place.column or 0)):
        _replace(lines, edit)
    emptied = {edit.first.place.line for edit in edits if not edit.replacement}
    kept = [line for number, line in enumerate(lines, 1) if number not in emptied or line.strip() not in ("", "\\")]
    return "\n".join(kept)


def _replace(lines: list[str], edit: Edit) -> None:
    place, last = edit.first.place, edit.last.place
    assert place.line is not None and place.column is not None and last.column is not None
    assert last.end_column is not None
    text, end = lines[place.line - 1], last.end_column
    opening, closing = text[last.column - 2 : last.column - 1], text[end - 1 : end]
    quoted = closing in ("'", '"') and opening == closing
    start = place.column - 1 - (1 if quoted and edit.first is edit.last else 0)
    head, tail = text[:start], text[end - 1 + quoted :]
    lines[place.line - 1] = head + edit.replacement + tail if edit.replacement else _closed_gap(head, tail)


def _closed_gap(head: str, tail: str) -> str:
    """A line out of which a flag was cut."""
    if not head.strip():
        return head + tail.lstrip(" ")
    return head.rstrip(" ") + (" " if tail.strip() else "") + tail.lstrip(" ")


def _stands_in(word: Argument, lines: list[str]) -> bool:
    place = word.place
    if place.line is None or place.column is None or place.end_column is None or place.line > len(lines):
        return False
    return lines[place.line - 1][place.column - 1 : place.end_column - 1] in (word.text, word.raw)


def _unified(before: str, after: str, source: str) -> str:
    name = _from_here(source)
    changed = difflib.unified_diff(before.splitlines(True), after.splitlines(True), name, name)
    return "".join(text if text.endswith("\n") else f"{text}\n\\ No newline at end of file\n" for text in changed)


def _from_here(source: str) -> str:
    """A file below the working folder by its relative path, since `patch` refuses absolute ones."""
    path = Path(source)
    return str(path.relative_to(Path.cwd())) if path.is_absolute() and path.is_relative_to(Path.cwd()) else source


def _as_lines(
    program: tuple[Argument, ...],
    words: tuple[Argument, ...],
    environment: Mapping[str, str],
    change: Change,
    changed: bool,
) -> str:
    """The command a flag a line; variables that the change touches stand before it."""
    touched = {name: environment[name] for name in change.drop_environment if name in environment}
    touched |= {name: environment[name] for name in change.set_environment if name in environment}
    shown = dict(change.set_environment) if changed else touched
    lines = [f"{name}={shlex.quote(value)}" for name, value in sorted(shown.items())]
    lines.append(" ".join(_quoted(word) for word in program))
    index = 0
    while index < len(words):
        end = end_of(words, index)
        lines.append("  " + " ".join(_quoted(word) for word in words[index:end] if word.raw != ""))
        index = end
    return " \\\n".join(lines) + "\n"


def _quoted(word: Argument) -> str:
    return word.text if word.unresolved else shlex.quote(word.text)


def _spelled(name: str, value: str | None) -> str:
    return name if value is None else f"{name} {shlex.quote(value)}"
