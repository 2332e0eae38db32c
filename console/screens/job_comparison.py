"""Two jobs beside one another: parameters, surroundings, how they ended."""

from typing import Any, ClassVar

from textual.binding import BindingType
from textual.content import Content

from console.screens.listing import ListingScreen
from engine.jobs.recipes.comparison import ComparedRow, compared
from state.outside_text import plain_line
from state.records.jobs import Job
from widgets.columns import Column
from widgets.table import Table


class JobComparisonScreen(ListingScreen):
    """What differs stands first in each section and is marked."""

    TITLE_TEXT = "Compare"
    BELONGS_TO = "Jobs"
    PLACES = ("lists", "details")
    BINDINGS: ClassVar[list[BindingType]] = []

    def __init__(self, left: Job, right: Job) -> None:
        super().__init__()
        self.left = left
        self.right = right

    def title_text(self) -> str:
        """Both jobs by number."""
        return f"Job {self.left.id} beside {self.right.id}"

    def make_table(self) -> Table[Any]:
        """The table."""
        columns: tuple[Column[ComparedRow], ...] = (
            Column("", lambda row: Content.styled("≠" if row.differs else " ", "$warning"), 1),
            Column("What", lambda row: plain_line(row.name, 40), 20, sort_key=lambda row: row.name),
            Column(f"Job {self.left.id}", lambda row: _value(row, row.left), 26, grows=True),
            Column(f"Job {self.right.id}", lambda row: _value(row, row.right), 26, grows=True),
            Column("Of", lambda row: row.section, 10, priority=2, sort_key=lambda row: row.section),
        )
        return Table(columns, key=lambda row: (row.section, row.name), empty="Nothing to compare.", id="table")

    def on_mount(self) -> None:
        """Fill it."""
        super().on_mount()
        self.table.show(compared(self.left, self.right))


def _value(row: ComparedRow, text: str) -> Content:
    return Content.styled(plain_line(text, 300), "$warning" if row.differs else "")
