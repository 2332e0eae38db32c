"""Draws the flow of widths, the broken joint marked by a sign."""

from collections.abc import Iterator

from engine.check.records import Finding, Model
from engine.check.report.flow import JOINTS, Flow, flow_of
from engine.check.report.result import Checked
from engine.check.report.styled import WIDTH, Line, Span, line
from state.outside_text import plain_line

LABEL = 11
PIPE, BREAK, UNKNOWN = "│", "✗", "–"


def diagram(one: Checked) -> list[Line]:
    """The lines of the diagram; empty where neither model could be read."""
    flow = flow_of(one)
    if flow.target_hidden is None and flow.draft_hidden is None and flow.fc_in is None:
        return []
    return list(_lines(flow, one))


def _lines(flow: Flow, one: Checked) -> Iterator[Line]:
    target, draft = one.deployment.target, one.deployment.draft
    yield _row("target", f"{_class_of(target)}, {_figure(flow.target_layers)} layers of {_figure(flow.target_hidden)}")
    if draft is None:
        return
    yield from _joint("capture", _capture_text(flow), flow, one)
    yield from _joint("fc", f"{_figure(flow.handed_width)} wide", flow, one)
    if flow.fc_in is not None:
        yield _row("fc", f"{flow.fc_in} → {_figure(flow.fc_out or flow.draft_hidden)}")
    yield from _joint("draft", f"{_figure(flow.fc_out or flow.draft_hidden)} wide", flow, one)
    yield _row("draft", f"{_class_of(draft)}, hidden {_figure(flow.draft_hidden)}")
    yield from _joint("head", "", flow, one)
    rows = flow.head_rows if flow.head_rows is not None else flow.draft_vocabulary
    yield _row(
        "head", f"{_figure(rows)} rows" + ("" if flow.head_rows is not None else ", the target's own or not read")
    )
    yield from _joint("vocabulary", "", flow, one)
    yield _row("vocabulary", f"draft {_figure(flow.draft_vocabulary)}, target {_figure(flow.target_vocabulary)}")


def _row(label: str, text: str) -> Line:
    return line("  ", Span(label.ljust(LABEL), "heading"), plain_line(text, WIDTH - LABEL - 2))


def _joint(name: str, text: str, flow: Flow, one: Checked) -> Iterator[Line]:
    """What passes from one row to the next; where it breaks, the sign and what is wrong."""
    if text or name not in flow.broken:
        yield line("    ", Span(PIPE, "dim"), " " * (LABEL - 3), Span(text, "dim"))
    if name in flow.broken:
        title = next((finding.title for finding in one.findings if _breaks(finding, name)), "")
        yield line("    ", Span(BREAK, "error"), " " * (LABEL - 3), Span(plain_line(title, WIDTH - LABEL - 2), "error"))


def _breaks(finding: Finding, joint: str) -> bool:
    return finding.severity == "error" and JOINTS.get(finding.rule) == joint


def _capture_text(flow: Flow) -> str:
    if flow.captured is not None:
        layers = ", ".join(map(str, flow.captured))
        return f"states before layers {layers}: {len(flow.captured)} x {_figure(flow.target_hidden)}"
    return "final states" if flow.capture_known else "states as the algorithm takes them"


def _class_of(model: Model | None) -> str:
    names = (model.config or {}).get("architectures") if model is not None else None
    return str(names[0]) if isinstance(names, list) and names else "class not known"


def _figure(value: int | None) -> str:
    return UNKNOWN if value is None else str(value)
