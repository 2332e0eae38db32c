"""What the demonstration measured, as a record and as lines."""

from typing import Any

import msgspec

from console.demo.fault import Fault
from engine.campaign.outlook import forecast_of
from state.records.campaigns import CampaignView, Milestone


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """The figures of one demonstration."""

    accept_length_eagle: float
    """Under the wrong flag."""
    finding: str
    accept_length_eagle3: float
    """The shipped draft under the right flag."""
    answered: int
    failed: int
    tokens: int
    tokens_per_s: float | None
    trained: bool
    """Whether drafts were trained here."""
    untrained_accept_length: float | None
    trained_accept_length: float | None
    """Of the draft with most samples, by a server."""
    configurations: tuple[Milestone, ...]
    forecast: dict[str, Any]
    outlook: tuple[str, ...]
    proposal: str
    seconds: float


def report_of(fault: Fault, view: CampaignView, seconds: float, *, trained: bool) -> Report:
    """Gather the figures from the campaign's view. Pure."""
    answered: dict[str, Any] = next((step.figures for step in view.steps if step.kind == "regen"), {})
    lengths = {one.name.rpartition("-s")[0]: one.accept_length for one in view.milestones}
    amounts = [name for name in lengths if name.isdigit()]
    return Report(
        accept_length_eagle=fault.accept_length_eagle,
        finding=fault.finding,
        accept_length_eagle3=fault.accept_length_eagle3,
        answered=answered.get("done", 0),
        failed=answered.get("failed", 0),
        tokens=answered.get("tokens", 0),
        tokens_per_s=answered.get("tokens_per_s"),
        trained=trained,
        untrained_accept_length=lengths.get("untrained"),
        trained_accept_length=lengths[max(amounts, key=int)] if amounts else None,
        configurations=view.milestones,
        forecast=forecast_of(view.steps),
        outlook=view.outlook,
        proposal=view.proposal,
        seconds=seconds,
    )


def report_lines(report: Report) -> list[str]:
    """For people."""
    speed = f"{report.tokens_per_s:,.0f} tokens/s" if report.tokens_per_s else "–"
    lines = [
        f"EAGLE flag     accept length {report.accept_length_eagle:.2f}   found by the rule {report.finding}",
        f"EAGLE3 flag    accept length {report.accept_length_eagle3:.2f}   no error found",
        f"answers        {report.answered:,} answered, {report.failed:,} failed, {report.tokens:,} tokens, {speed}",
        *(_configuration(one) for one in report.configurations),
    ]
    if report.trained_accept_length is not None and report.untrained_accept_length is not None:
        lines.append(
            f"training       accept length {report.untrained_accept_length:.2f} untrained, "
            f"{report.trained_accept_length:.2f} trained; {report.accept_length_eagle:.2f} under the wrong flag"
        )
    lines += [f"forecast       {line}" for line in report.outlook]
    return [*lines, f"next           {report.proposal}", f"took           {report.seconds:.0f} s"]


def _configuration(one: Milestone) -> str:
    length = "–" if one.accept_length is None else f"{one.accept_length:.2f}"
    ends = "" if one.speedup_low is None else f" ({one.speedup_low:.2f}–{one.speedup_high:.2f})"
    speed = "–" if one.speedup is None else f"{one.speedup:.2f}x{ends}"
    return f"measured       {one.name:<24} accept length {length:>5}   speed {speed}   {one.remark}".rstrip()
