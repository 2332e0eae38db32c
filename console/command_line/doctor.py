"""`alula doctor`: what on this machine could keep Alula from working, and what to do."""

import sys
from collections.abc import Sequence
from itertools import groupby

import click

from console.command_line.live_view import to_json
from console.command_line.styled import echo_lines
from engine.check.report.styled import Line, Span, Style, wrapped
from engine.doctor.records import Examination, Verdict

_SIGNS: dict[Verdict, tuple[str, Style]] = {"good": ("✓", "good"), "note": ("!", "warning"), "problem": ("✗", "error")}


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def doctor(as_json: bool) -> None:
    """Look at the terminal, state folder, driver, engine, serving environment and packages; say what to do.

    Exit code 0: nothing keeps Alula from working. 1: something does.

    Example: alula doctor --json | jq '.[] | select(.verdict != "good")'
    """
    from engine.doctor.examine import examine

    found = examine()
    if as_json:
        click.echo(to_json(found))
    else:
        echo_lines(_lines(found))
    sys.exit(int(any(examination.verdict == "problem" for examination in found)))


def _lines(found: Sequence[Examination]) -> list[Line]:
    lines: list[Line] = []
    for area, examinations in groupby(found, key=lambda examination: examination.area):
        lines.append((Span(area, "heading"),))
        for examination in examinations:
            lines += _told(examination)
    return [*lines, (), (_verdict(found),)]


def _told(examination: Examination) -> list[Line]:
    sign, style = _SIGNS[examination.verdict]
    head, *rest = wrapped(f"{examination.name}: {examination.found}", 4)
    remedy = wrapped(examination.remedy, 6, style="info") if examination.remedy else []
    return [(Span(f"  {sign} ", style), *head[1:]), *rest, *remedy]


def _verdict(found: Sequence[Examination]) -> Span:
    problems = sum(examination.verdict == "problem" for examination in found)
    notes = sum(examination.verdict == "note" for examination in found)
    if problems:
        return Span(f"✗ {problems} of {len(found)} would keep Alula from working; {notes} to know of", "error")
    return Span(f"✓ nothing keeps Alula from working; {notes} of {len(found)} to know of", "good")
