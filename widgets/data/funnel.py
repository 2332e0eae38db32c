"""A preparation drawn: what each step leaves as bars, and each source's part of the mix."""

from collections.abc import Sequence

from textual.content import Content

from state.outside_text import plain_line
from state.records.data import DataPreparation, DataShare, FunnelStep
from widgets import figures
from widgets.bar import bar
from widgets.line import Line, aligned
from widgets.pane import Pane

NAME_CELLS, COUNT_CELLS = 18, 11
WIDEST_BAR = 60


class Funnel(Pane[DataPreparation]):
    """The steps from above, then the sources."""

    DEFAULT_CSS = "Funnel { height: auto; }"

    def lines(self, width: int, height: int) -> Sequence[Line]:
        """A line for each step and each source."""
        record = self.record
        if record is None:
            return []
        return [*funnel_lines(record.funnel, width), "", *share_lines(record.shares, width)]

    def needed(self) -> int:
        """Lines that it takes."""
        return len(self.record.funnel) + len(self.record.shares) + 3 if self.record else 1


def funnel_lines(steps: Sequence[FunnelStep], width: int) -> list[Line]:
    """What is left after each step, and what went in it."""
    heading = Content.styled(f" {'Step':<{NAME_CELLS}}{'left':>{COUNT_CELLS}}", "bold $text-muted")
    if not steps:
        return [heading, Content.styled(" Nothing is counted yet.", "$text-muted")]
    whole = max(steps[0].left, 1)
    cells = _bar_cells(width)
    return [heading, *(_step(step, whole, cells) for step in steps)]


def share_lines(shares: Sequence[DataShare], width: int) -> list[Line]:
    """Each source's part of the mix: what was wanted, what there is, what was taken."""
    if not shares:
        return [Content.styled(" The mix is made when all is read.", "$text-muted")]
    whole = max(sum(one.taken or 0 for one in shares), 1)
    titles = f" {'Source':<{NAME_CELLS}}{'taken':>{COUNT_CELLS}}"
    return [Content.styled(titles, "bold $text-muted"), *(_share(one, whole, _bar_cells(width)) for one in shares)]


def _bar_cells(width: int) -> int:
    return max(8, min(WIDEST_BAR, (width - NAME_CELLS - COUNT_CELLS - 3) // 2))


def _row(name: str, count: int | None, share: float, cells: int, style: str, rest: Content) -> Content:
    head = Content(f" {figures.left_column(plain_line(name, 60), NAME_CELLS)}")
    number = aligned(figures.count(count), COUNT_CELLS, "right")
    return (
        head
        + number
        + Content("  ")
        + bar(share * 100, cells, style, figures.right_column(figures.share(share), 5))
        + Content("  ")
        + rest
    )


def _step(step: FunnelStep, whole: int, cells: int) -> Content:
    reasons = sorted(step.dropped.items(), key=lambda item: -item[1])
    gone = ", ".join(f"{figures.count(count)} {reason.replace('_', ' ')}" for reason, count in reasons)
    return _row(
        step.name, step.left, step.left / whole, cells, "$primary", Content.styled(plain_line(gone), "$text-muted")
    )


def _share(one: DataShare, whole: int, cells: int) -> Content:
    taken = one.taken or 0
    short = one.wanted is not None and one.available is not None and one.available < one.wanted
    words = f"of {figures.count(one.available)}"
    if one.wanted is not None:
        words += f", wanted {figures.count(one.wanted)}"
    return _row(
        one.name, one.taken, taken / whole, cells, "$warning" if short else "$success",
        Content.styled(words, "$warning" if short else "$text-muted"),
    )  # fmt: skip
