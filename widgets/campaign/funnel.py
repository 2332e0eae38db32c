"""The funnel of a campaign: a bar for each stage from prompts to data, then what each configuration reached."""

from textual.content import Content

from state.records.campaigns import CampaignView, FunnelRow, Milestone
from widgets import figures
from widgets.bar import bar
from widgets.line import Line, aligned
from widgets.pane import Pane

STAGE_CELLS, COUNT_CELLS, NAME_CELLS = 11, 9, 24
BAR_CELLS = 30


class Funnel(Pane[CampaignView]):
    """Stages with bars against the first that is known; then accept length and speed-up of the newest measurements."""

    DEFAULT_CSS = "Funnel { height: auto; }"

    def lines(self, width: int, height: int) -> list[Line]:
        """Stages first; of the configurations the last ones, which are the newest."""
        view = self.record
        if view is None:
            return []
        most = max((row.count or 0 for row in view.funnel), default=0)
        lines: list[Line] = [_stage(row, most, width) for row in view.funnel]
        room = max(0, height - len(lines))
        shown = view.milestones[-room:] if room else ()
        return [*lines, *(_reached(one, width) for one in shown)]


def wanted_height(view: CampaignView) -> int:
    """Lines that all of it takes."""
    return len(view.funnel) + len(view.milestones)


def _stage(row: FunnelRow, most: int, width: int) -> Content:
    percent = 100 * row.count / most if row.count is not None and most else None
    drawn = bar(percent, min(BAR_CELLS, max(0, width - STAGE_CELLS - COUNT_CELLS - 4)), "$accent", "")
    count = aligned(figures.count(row.count), COUNT_CELLS, "right")
    return Content.assemble(
        (f" {row.stage:<{STAGE_CELLS}}", "$text-muted"), count, " ", drawn, (f" {row.note}", "$text-muted")
    )


def _reached(one: Milestone, width: int) -> Content:
    length = figures.ABSENT if one.accept_length is None else f"{one.accept_length:.2f}"
    speed = figures.ABSENT if one.speedup is None else f"{one.speedup:.2f}x"
    style = "" if one.speedup is None else "$success" if one.speedup > 1 else "$warning"
    name, muted = aligned(f" {one.name}", NAME_CELLS), "$text-muted"
    figure = (f"{speed:>6}", style)
    return Content.assemble(name, (" accept ", muted), f"{length:>5}", "  ", figure, (f"  {one.remark}", muted))
