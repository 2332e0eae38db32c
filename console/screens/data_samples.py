"""Sample viewer: records of a preparation, kept and left out; what they hold is made harmless before it is drawn."""

from pathlib import Path
from typing import Any, ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widgets import Input, Static

from console.actions import bindings
from console.screens.listing import ListingScreen
from state.outside_text import plain_line, plain_text
from state.records.data import DataSample
from widgets.columns import Column
from widgets.table import Table

TEXT_SHOWN = 20_000
"""Characters of one record; more is told by its length."""

SAMPLE_COLUMNS: tuple[Column[tuple[int, DataSample]], ...] = (
    Column(
        "Verdict",
        lambda row: Content.styled(plain_line(row[1].verdict.replace("_", " "), 40), verdict_style(row[1])),
        18,
        sort_key=lambda row: row[1].verdict,
    ),
    Column("Record", lambda row: plain_line(row[1].place, 120), 26, priority=1, sort_key=lambda row: row[1].place),
    Column("Why", lambda row: plain_line(row[1].message, 200), 24, grows=True),
    Column("Begins", lambda row: plain_line(row[1].text, 200), 24, priority=2, grows=True),
)


def verdict_style(sample: DataSample) -> str:
    """Kept or not."""
    return "$success" if sample.verdict == "kept" else "$warning"


class SamplesScreen(ListingScreen):
    """The list above, the record under the cursor whole below; Tab goes from one to the other."""

    TITLE_TEXT = "Samples"
    BELONGS_TO = "Data"
    PLACES = ("data samples", "lists", "details")
    BINDINGS: ClassVar[list[BindingType]] = [*bindings("details")]
    DEFAULT_CSS = """
    SamplesScreen {
        & #table { height: 1fr; }
        & VerticalScroll { height: 1fr; border-top: solid $panel-lighten-1; padding: 0 1; }
        & VerticalScroll:focus { border-top: solid $primary; }
    }
    """

    def __init__(self, output: Path, name: str) -> None:
        super().__init__()
        self._output = output
        self._name = name

    def title_text(self) -> str:
        """Of what."""
        return plain_line(f"Samples of {self._name}", 100)

    def compose_body(self) -> ComposeResult:
        """List and record."""
        yield Input(placeholder="text to match; ! before it inverts; Esc ends", id="filter", compact=True)
        yield self.make_table()
        with VerticalScroll(can_focus=True):
            yield Static("", id="text", markup=False)

    def make_table(self) -> Table[Any]:
        """The list."""
        return Table(SAMPLE_COLUMNS, key=lambda row: row[0], empty="Nothing is read yet.", id="table")

    def on_mount(self) -> None:
        """Read them in a thread: shards may lie on a slow disk."""
        super().on_mount()
        self.run_worker(self._read, thread=True)

    def open_record(self, record: tuple[int, DataSample]) -> None:
        """The keys scroll its text."""
        self.query_one(VerticalScroll).focus()

    def on_table_highlighted(self, event: Table.Highlighted) -> None:
        """Show the record under the cursor."""
        self.query_one("#text", Static).update(text_of(event.record[1]) if event.record else Content(""))
        self.query_one(VerticalScroll).scroll_home(animate=False)

    def _read(self) -> None:
        from engine.data.samples import samples_of

        found = samples_of(self._output)
        self.app.call_from_thread(self._show, tuple(enumerate(found)))

    def _show(self, rows: tuple[tuple[int, DataSample], ...]) -> None:
        if self.is_attached:
            self.table.show(rows)


def text_of(sample: DataSample) -> Content:
    """A record as it is read, without anything that a terminal could obey."""
    head = plain_line(f"{sample.verdict.replace('_', ' ')}  {sample.place}  {sample.message}", 400)
    shown = plain_text(sample.text[:TEXT_SHOWN]).expandtabs(4)
    rest = len(sample.text) - TEXT_SHOWN
    more = f"\n… {rest} more characters" if rest > 0 else ""
    return Content.assemble((f"{head}\n\n", "$text-muted"), shown + more)
