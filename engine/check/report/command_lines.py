"""The command as it will run, a flag a line, with the offending words marked in place."""

from collections.abc import Iterator

import msgspec

from engine.check.flags.table import Flag, flag_table, tables
from engine.check.records import Argument, Finding, Launch, ServerArguments, Severity
from engine.check.report.result import ORDER, Checked
from engine.check.report.styled import WIDTH, Line, Span, line
from state.outside_text import plain_line
from state.secret_words import shown_argv

INDENT = 4
MARGIN = 6


class _Word(msgspec.Struct, frozen=True):
    argument: Argument
    severity: Severity | None


def command_lines(one: Checked) -> list[Line]:
    """The lines; empty for a server whose command is not known."""
    launch = one.deployment.launch
    if launch is None or not (launch.program or launch.arguments):
        return []
    offending = offending_words(one)
    texts = shown_argv([argument.text for argument in launch.arguments])
    words = [_Word(argument, None) for argument in launch.program]
    words += [
        _Word(msgspec.structs.replace(argument, text=text), offending.get(index))
        for index, (argument, text) in enumerate(zip(launch.arguments, texts, strict=True))
        if argument.raw != ""
    ]
    groups = list(_groups(words, len(launch.program)))
    lines: list[Line] = []
    for index, group in enumerate(groups):
        lines.extend(_group_lines(group, index > 0, index < len(groups) - 1))
    return lines


def offending_words(one: Checked) -> dict[int, Severity]:
    """Index of each argument that a finding speaks of, with the gravest severity."""
    launch, arguments = one.deployment.launch, one.deployment.arguments
    found: dict[int, Severity] = {}
    if launch is None:
        return found
    for finding in one.findings:
        if finding.severity == "info":
            continue
        for index in _spoken_of(finding, launch, arguments):
            before = found.get(index)
            if before is None or ORDER[finding.severity] < ORDER[before]:
                found[index] = finding.severity
    return found


def _spoken_of(finding: Finding, launch: Launch, arguments: ServerArguments | None) -> Iterator[int]:
    places = {evidence.place for evidence in finding.evidence if evidence.place is not None and evidence.place.line}
    named = {
        evidence.what.split()[0].partition("=")[0] for evidence in finding.evidence if evidence.what.startswith("--")
    }
    if finding.fix is not None:
        named |= {*finding.fix.set_flags, *finding.fix.drop_flags}
    destinations = {destination_of(name, arguments) for name in named} - {None}
    follows = False
    for index, argument in enumerate(launch.arguments):
        if argument.text.startswith("-") and len(argument.text) > 1:
            head = argument.text.partition("=")[0]
            follows = head in named or destination_of(head, arguments) in destinations
        if follows or argument.place in places:
            yield index


def destination_of(spelled: str, arguments: ServerArguments | None) -> str | None:
    """The setting that a spelling stands for in the release at hand."""
    flag = flag_of(spelled, arguments)
    return flag.dest if flag is not None else None


def flag_of(spelled: str, arguments: ServerArguments | None) -> Flag | None:
    """The flag that a spelling or an unambiguous abbreviation stands for."""
    release = arguments.release if arguments is not None and arguments.release in tables().releases else None
    table = flag_table(release or tables().releases[-1])
    if spelled in table.spellings:
        return table.spellings[spelled]
    matches = [flag for known, flag in table.spellings.items() if known.startswith(spelled)] if len(spelled) > 2 else []
    return matches[0] if len(matches) == 1 else None


def _groups(words: list[_Word], program: int) -> Iterator[list[_Word]]:
    group = words[:program]
    for word in words[program:]:
        if word.argument.text.startswith("--") and group:
            yield group
            group = []
        group.append(word)
    if group:
        yield group


def _group_lines(group: list[_Word], indented: bool, continues: bool) -> Iterator[Line]:
    """A flag with its values, broken where it does not fit; marks stand under the words they mean."""
    text, marks = "", []
    for word in group:
        start = len(text) + (1 if text else 0)
        text = f"{text} {_shown(word.argument)}" if text else _shown(word.argument)
        if word.severity is not None:
            marks.append((start, len(text), word.severity))
    indent = INDENT + (2 if indented else 0)
    room = WIDTH - indent - MARGIN - 2
    number = group[0].argument.place.line
    for at in range(0, max(len(text), 1), room):
        last = at + room >= len(text)
        piece = text[at : at + room]
        here = [(max(s - at, 0), min(e - at, room), severity) for s, e, severity in marks if s < at + room and e > at]
        margin = f"{number if at == 0 and number is not None else '':>{MARGIN - 2}}  "
        ending = " \\" if last and continues else ""
        yield line(Span(margin, "dim"), " " * (indent - INDENT), *_coloured(piece, here), Span(ending, "dim"))
        if here:
            under = [" "] * len(piece)
            for start, end, _ in here:
                under[start:end] = "^" * (end - start)
            gravest = min((severity for *_, severity in here), key=ORDER.__getitem__)
            yield line(" " * (MARGIN + indent - INDENT), Span("".join(under).rstrip(), gravest))


def _coloured(piece: str, marks: list[tuple[int, int, Severity]]) -> Iterator[Span]:
    at = 0
    for start, end, severity in marks:
        yield Span(piece[at:start], "code")
        yield Span(piece[start:end], severity)
        at = end
    yield Span(piece[at:], "code")


def _shown(argument: Argument) -> str:
    import shlex

    text = plain_line(argument.text, 2000)
    return text if argument.unresolved else shlex.quote(text)
