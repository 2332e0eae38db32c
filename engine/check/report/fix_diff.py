"""The corrected command as a unified diff. Nothing is written or run.

A file is changed in place where each flag stands in it; otherwise (a process, a `--config` value, a variable from
elsewhere) the whole command is shown, a flag a line, before and after.
"""

import difflib
import shlex
from collections.abc import Mapping
from pathlib import Path

import msgspec

from engine.check.records import Argument, Fix, Launch, ServerArguments
from engine.check.report.command_lines import destination_of, flag_of
from engine.check.report.result import Checked


class Change(msgspec.Struct, frozen=True):
    """What all fixes of a deployment ask for together; the gravest finding wins where two disagree."""

    set_flags: Mapping[str, str | None]
    drop_flags: frozenset[str]
    set_environment: Mapping[str, str]
    drop_environment: frozenset[str]

    def is_empty(self) -> bool:
        """Whether no fix touches the command."""
        return not (self.set_flags or self.drop_flags or self.set_environment or self.drop_environment)


def fix_diff(one: Checked) -> str:
    """The diff of one deployment; empty where no fix changes its command."""
    launch, change = one.deployment.launch, change_of(one)
    if launch is None or change.is_empty():
        return ""
    arguments = one.deployment.arguments
    edited = _edited_source(launch, change, arguments)
    if edited is not None:
        return _unified(launch.source_text, edited, launch.place.source)
    before = _as_lines(launch.program, launch.arguments, launch.environment, change, False)
    after = _as_lines(
        launch.program, corrected_arguments(launch.arguments, change, arguments), launch.environment, change, True
    )
    return _unified(before, after, launch.place.source)


def change_of(one: Checked) -> Change:
    """Merge the fixes of errors and warnings, errors first."""
    fixes = [finding.fix for finding in one.findings if finding.fix is not None and finding.severity != "info"]
    arguments = one.deployment.arguments
    set_flags: dict[str, str | None] = {}
    drop_flags: set[str] = set()
    taken: set[str] = set()
    for fix in fixes:
        for name, value in fix.set_flags.items():
            if _claim(name, arguments, taken):
                set_flags[name] = value
        drop_flags.update(name for name in fix.drop_flags if _claim(name, arguments, taken))
    return Change(set_flags, frozenset(drop_flags), *_environment(fixes))


def corrected_arguments(
    words: tuple[Argument, ...], change: Change, arguments: ServerArguments | None
) -> tuple[Argument, ...]:
    """The words after the change: values replaced where the flag stands, dropped flags gone, new flags at the end."""
    wanted = {_key(name, arguments): (name, value) for name, value in change.set_flags.items()}
    dropped = {_key(name, arguments) for name in change.drop_flags}
    last = {_key(_head(word), arguments): index for index, word in enumerate(words) if _is_flag(word)}
    kept: list[Argument] = []
    index = 0
    while index < len(words):
        word = words[index]
        end = _end_of(words, index)
        key = _key(_head(word), arguments) if _is_flag(word) else None
        if key in dropped or (key in wanted and last[str(key)] != index):
            pass
        elif key in wanted:
            name, value = wanted.pop(str(key))
            kept.extend(_flag_words(name if flag_of(name, arguments) is None else _head(word), value))
        else:
            kept.extend(words[index:end])
        index = end
    for name, value in wanted.values():
        kept.extend(_flag_words(name, value))
    return tuple(kept)


def _edited_source(launch: Launch, change: Change, arguments: ServerArguments | None) -> str | None:
    """The source text with the flags changed in place; `None` where a flag that must change does not stand in it."""
    if change.set_environment or change.drop_environment or not Path(launch.place.source).is_file():
        return None
    lines = launch.source_text.split("\n")
    wanted = {_key(name, arguments): (name, value) for name, value in change.set_flags.items()}
    dropped = {_key(name, arguments) for name in change.drop_flags}
    edits: list[tuple[Argument, Argument, str]] = []
    words = launch.arguments
    for index, word in enumerate(words):
        key = _key(_head(word), arguments) if _is_flag(word) else None
        if key not in wanted and key not in dropped:
            continue
        last = words[_end_of(words, index) - 1]
        if not _stands_in(word, lines) or not _stands_in(last, lines) or word.place.line != last.place.line:
            return None
        name, value = wanted.get(str(key), ("", None))
        spelled = name if flag_of(name, arguments) is None else _head(word)
        edits.append((word, last, _spelled(spelled, value) if key in wanted else ""))
    new = [
        name
        for name in change.set_flags
        if not any(_key(_head(word), arguments) == _key(name, arguments) for word in words if _is_flag(word))
    ]
    anchor = next((word for word in reversed(words) if _stands_in(word, lines)), None)
    if new and anchor is None:
        return None
    if new and anchor is not None:
        _insert(lines, anchor, " ".join(_spelled(name, change.set_flags[name]) for name in new), edits)
    _replace(lines, edits)
    return "\n".join(lines)


def _insert(lines: list[str], anchor: Argument, text: str, edits: list[tuple[Argument, Argument, str]]) -> None:
    """Put new flags behind the last word, joined to an edit that ends there."""
    for index, (first, last, replacement) in enumerate(edits):
        if last.place == anchor.place:
            edits[index] = (first, last, f"{replacement} {text}".strip())
            return
    raw = anchor.raw or anchor.text
    edits.append((anchor, anchor, f"{raw} {text}"))


def _replace(lines: list[str], edits: list[tuple[Argument, Argument, str]]) -> None:
    for first, last, replacement in sorted(
        edits, key=lambda edit: (edit[0].place.line or 0, -(edit[0].place.column or 0))
    ):
        place, end = first.place, last.place.end_column
        assert place.line is not None and place.column is not None and end is not None
        text = lines[place.line - 1]
        opening = (last.place.column or 1) - 2
        quote = 1 if text[end - 1 : end] in ("'", '"') and text[opening : opening + 1] == text[end - 1 : end] else 0
        start = opening if quote and first is last else place.column - 1
        tail = text[end - 1 + quote :]
        head = text[:start]
        if replacement:
            lines[place.line - 1] = head + replacement + tail
        else:
            lines[place.line - 1] = _closed_gap(head, tail)
    emptied = {first.place.line for first, _, replacement in edits if not replacement}
    lines[:] = [text for number, text in enumerate(lines, 1) if number not in emptied or text.strip() not in ("", "\\")]


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
    changed = difflib.unified_diff(before.splitlines(True), after.splitlines(True), source, source)
    return "".join(text if text.endswith("\n") else f"{text}\n\\ No newline at end of file\n" for text in changed)


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
        end = _end_of(words, index)
        lines.append("  " + " ".join(_quoted(word) for word in words[index:end]))
        index = end
    return " \\\n".join(lines) + "\n"


def _quoted(word: Argument) -> str:
    return word.text if word.unresolved else shlex.quote(word.text)


def _environment(fixes: list[Fix]) -> tuple[dict[str, str], frozenset[str]]:
    dropped = frozenset(name for fix in fixes for name in fix.drop_environment)
    values = {name: value for fix in reversed(fixes) for name, value in fix.set_environment.items()}
    return {name: value for name, value in values.items() if name not in dropped}, dropped


def _claim(name: str, arguments: ServerArguments | None, taken: set[str]) -> bool:
    key = _key(name, arguments)
    free = key not in taken
    taken.add(key)
    return free


def _key(spelled: str, arguments: ServerArguments | None) -> str:
    return destination_of(spelled, arguments) or spelled


def _head(word: Argument) -> str:
    return word.text.partition("=")[0]


def _is_flag(word: Argument) -> bool:
    return word.text.startswith("--") and len(word.text) > 2


def _end_of(words: tuple[Argument, ...], index: int) -> int:
    """Index behind a flag and its values."""
    end = index + 1
    while end < len(words) and not _is_flag(words[end]):
        end += 1
    return end


def _flag_words(name: str, value: str | None) -> list[Argument]:
    from engine.check.records import Place

    nowhere = Place("fix")
    return [Argument(name, nowhere), *([Argument(value, nowhere)] if value is not None else [])]


def _spelled(name: str, value: str | None) -> str:
    return name if value is None else f"{name} {shlex.quote(value)}"
