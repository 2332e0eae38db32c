"""A regeneration on the overview: bar, counts, speed, the time left with its range, and when it will be done."""

import time

from textual.content import Content

from state.records.regeneration import RegenerationProgress
from state.records.views import RegenerationRow
from widgets import figures
from widgets.bar import bar
from widgets.history import HistorySeries, history_lines
from widgets.line import Line, aligned
from widgets.pane import Pane

STALE_S = 5.0
CHART_CELLS = 36
_CHART_STEP = 4
"""The chart gives way to the figures by so many cells, so that not each digit moves it."""
STATE_STYLES = {"running": "$success", "paused": "$warning", "failed": "$error", "stopped": "$warning", "done": ""}


class RegenerationPane(Pane[RegenerationRow]):
    """Three lines; a chart of the speed at the right where there is room."""

    DEFAULT_CSS = "RegenerationPane { height: 3; }"

    def lines(self, width: int, height: int) -> list[Line]:
        """The run, or how to start one."""
        if self.record is None:
            hint = " regen  none. Press 5, then n to launch one."
            return [Content.styled(hint, "$text-muted")]
        rest = _rest(self.record)
        free = width - 2 - max(line.cell_length for line in rest)
        cells = min(CHART_CELLS, free // _CHART_STEP * _CHART_STEP)
        chart = self._chart(cells, height) if width >= 120 and cells >= 3 * _CHART_STEP else []
        room = width - (cells + 2 if chart else 0)
        lines: list[Content] = [_first(self.record, room), *rest][:height]
        lines += [Content("")] * (len(chart) - len(lines))
        return [_beside(line, chart[y] if y < len(chart) else None, room) for y, line in enumerate(lines)]

    def _chart(self, cells: int, height: int) -> list[Line]:
        assert self.record is not None
        series = HistorySeries(slot_s=10.0)
        series.extend(self.record.speeds)
        return history_lines(series, cells, height, None, "$secondary")


def eta_words(progress: RegenerationProgress) -> str:
    """Time left and when it will be done, in local time."""
    if progress.eta_s is None:
        return "time left not known yet"
    done_at = time.localtime(progress.taken_at + progress.eta_s)
    form = "%H:%M" if progress.eta_s < 12 * 3600 else "%a %H:%M"
    left = figures.eta(progress.eta_s, progress.eta_low_s, progress.eta_high_s)
    return f"left {left}, done about {time.strftime(form, done_at)}"


def _first(row: RegenerationRow, width: int) -> Content:
    run = row.run
    title = Content.assemble((" regen  ", "bold"), (run.state, STATE_STYLES.get(run.state, "")), f"  {run.name}  ")
    ended = row.progress.done + row.progress.failed if row.progress else 0
    share = ended / run.total * 100 if run.total else None
    figure = f"{figures.count(ended)}/{figures.count(run.total)} {figures.percent(share, 1)}"
    return title + bar(share, max(len(figure) + 1, width - title.cell_length - 1), "$success", figure)


def _rest(row: RegenerationRow) -> list[Content]:
    progress, run = row.progress, row.run
    if progress is None:
        return [Content(f"        {run.message or 'starting'}")]
    running = f"{figures.rate(progress.tokens_per_s_now)} now, {figures.rate(progress.tokens_per_s_overall)} overall   "
    running += f"{figures.count(progress.in_flight)} in flight   "
    speed = Content(f"        {running if run.state == 'running' else ''}")
    failed = f"! {figures.count(progress.failed)} failed" if progress.failed else ""
    speed += Content.styled(f"{failed}   " if failed else "", "$error")
    speed += Content(f"{figures.count(progress.completion_tokens)} tokens")
    message = run.message or (eta_words(progress) if run.state == "running" else "")
    age_s = time.time() - progress.taken_at
    if run.state == "running" and age_s > STALE_S:
        message = f"no news since {figures.duration(age_s)}   {message}"
    return [speed, Content.styled(f"        {message}", "$warning" if run.message else "")]


def _beside(line: Content, chart: Line | None, room: int) -> Line:
    if chart is None:
        return line
    assert isinstance(chart, Content)
    return aligned(line, room) + Content("  ") + chart
