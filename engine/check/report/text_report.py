"""The report for a terminal of 80 columns: verdict, widths, command, findings."""

from collections.abc import Iterator

from engine.check.flags.release import choose_release
from engine.check.live import accept_length, release_of
from engine.check.records import Deployment, Evidence, Finding, Fix, Place, ServerArguments
from engine.check.report.command_lines import command_lines
from engine.check.report.diagram import diagram
from engine.check.report.result import Checked, deployment_name
from engine.check.report.styled import SIGNS, WIDTH, Line, Span, Style, line, wrapped
from state.outside_text import plain_line

HEADINGS: tuple[tuple[Style, str], ...] = (("error", "Errors"), ("warning", "Warnings"), ("info", "Worth knowing"))


def text_report(one: Checked) -> list[Line]:
    """All lines of one deployment, the last one empty."""
    lines = list(_verdict(one))
    for heading, body in (("Widths", diagram(one)), ("Command", command_lines(one))):
        if body:
            lines += [line(), line(Span(heading, "heading")), *body]
    for severity, heading in HEADINGS:
        findings = [finding for finding in one.findings if finding.severity == severity]
        if findings:
            lines += [line(), line(Span(heading, "heading"))]
            lines += [shown for finding in findings for shown in _finding(finding, severity)]
    return [*lines, line()]


def verdict(one: Checked) -> str:
    """One sentence: does it fit together."""
    errors, warnings = one.count("error"), one.count("warning")
    if errors:
        launch = one.deployment.launch
        runs = launch is None or launch.pid is not None
        advice = "what runs here is not right" if runs else "do not launch this as it stands"
        return f"{_counted(errors, 'error')}, {_counted(warnings, 'warning')}: {advice}."
    if warnings:
        return f"No error, {_counted(warnings, 'warning')}."
    if one.deployment.launch is None and one.deployment.target is None:
        return "No error in what the server reported; its flags and models are not told here."
    return "No error: flags, widths, vocabularies and weights fit together as far as they were read."


def _verdict(one: Checked) -> Iterator[Line]:
    errors, warnings = one.count("error"), one.count("warning")
    style: Style = "error" if errors else "warning" if warnings else "good"
    sign = SIGNS["error"] if errors else SIGNS["warning"] if warnings else "✓"
    yield from wrapped(verdict(one), 2, f"{sign} ", style)
    yield from wrapped(deployment_name(one.deployment), 2, style="heading")
    yield from wrapped(", ".join(_circumstances(one.deployment)), 2, style="dim")


def _circumstances(deployment: Deployment) -> Iterator[str]:
    launch, arguments, live = deployment.launch, deployment.arguments, deployment.live
    if launch is not None and launch.framework == "vllm":
        yield "vLLM"
    elif arguments is not None:
        yield f"SGLang {arguments.release}{_release_note(arguments)}"
    if launch is not None and launch.pid is not None:
        yield f"pid {launch.pid}"
    if launch is not None and launch.unresolved:
        yield "not known here: " + ", ".join(f"${name}" for name in launch.unresolved)
    if live is not None:
        length = accept_length(live)
        shown = "–" if length is None else f"{length:.2f}"
        said = f"release {release_of(live) or '–'}, accept length {shown}"
        yield live.problem or (f"live: {live.url}, {said}" if "://" in live.url else f"as logged: {said}")


def _release_note(arguments: ServerArguments) -> str:
    """Where the flag table comes from, unless it is that of the release itself."""
    if not arguments.release_known:
        return " (the newest known: nothing names another; see --sglang-version)"
    table = choose_release(arguments.release).name
    return "" if table == arguments.release else f" (checked with the flags of {table})"


def finding_lines(finding: Finding) -> list[Line]:
    """One finding in full, in its severity's style."""
    return list(_finding(finding, finding.severity))


def _finding(finding: Finding, style: Style) -> Iterator[Line]:
    yield from wrapped(f"{finding.rule}: {finding.title}", 4, f"  {SIGNS[finding.severity]} ", style)
    yield from wrapped(finding.message, 4)
    for evidence in finding.evidence:
        yield from _evidence(evidence)
    if finding.fix is not None:
        yield from _fix(finding.fix)


def _evidence(evidence: Evidence) -> Iterator[Line]:
    facts = [f"{name} {value}" for name, value in (("expected", evidence.expected), ("found", evidence.found)) if value]
    place = f" ({place_text(evidence.place)})" if evidence.place is not None else ""
    yield from wrapped(
        f"{evidence.what}: {', '.join(facts)}{place}" if facts else f"{evidence.what}{place}", 6, "    - ", "dim"
    )


def _fix(fix: Fix) -> Iterator[Line]:
    yield from wrapped(fix.text, 9, "    Fix: ", "good")


def place_text(place: Place) -> str:
    """`file:line:column` as editors read it."""
    parts = [place.source, *(str(part) for part in (place.line, place.column) if part is not None)]
    return plain_line(":".join(parts), WIDTH * 4)


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count or 'no'} {noun}s"
