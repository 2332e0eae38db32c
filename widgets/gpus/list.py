"""GPUs on the overview: cards as large as there is room for, cells side by side where there are more than lines, or
one clear word why there are none."""

from textual.content import Content

from state.records.gpus import GpuStatus
from state.records.views import GpusView
from widgets.gpus.cards import LINES_OF_CARD, card
from widgets.gpus.grid import grid, grid_lines
from widgets.line import Line
from widgets.pane import Pane

MOST_CARDS = 16


class GpuList(Pane[GpusView]):
    """Draws every GPU, as long as there is room for a cell of each; else the last line says how many did not fit."""

    DEFAULT_CSS = "GpuList { height: auto; }"

    def wanted_lines(self, width: int, most: int) -> int:
        """How many of at most `most` lines would show everything well."""
        count = len(self.record.rows) if self.record is not None else 0
        if count <= min(most, MOST_CARDS):
            return max(1, count * lines_of_card(count, width))
        return grid_lines(count, width, most)

    def lines(self, width: int, height: int) -> list[Line]:
        """Cards where all fit, else cells."""
        if self.record is None or self.record.status is None:
            return [Content.styled(" GPUs  no reading yet", "$text-muted")]
        rows = self.record.rows
        if not rows:
            return _absence(self.record.status, height)
        if len(rows) <= min(height, MOST_CARDS):
            tall = min(lines_of_card(len(rows), width), height // len(rows))
            return [line for row in rows for line in card(row, width, tall)]
        return grid(rows, width, height)


def lines_of_card(count: int, width: int) -> int:
    """One GPU gets a chart, a few get a second line on a wide screen."""
    if count <= 2:
        return LINES_OF_CARD
    return 2 if count <= 8 and width >= 160 else 1


def _absence(status: GpuStatus, height: int) -> list[Line]:
    lines: list[Line] = [Content.assemble((" GPUs  ", "bold"), (status.message, ""))]
    if status.remedy and height > 1:
        lines.append(Content.styled(f"       {status.remedy}", "$text-muted"))
    return lines
