"""One preparation: how far it is, its funnel, its sources' shares."""

import time
from contextlib import closing
from pathlib import Path
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import VerticalScroll

from console.actions import bindings
from console.screens.data_actions import go_on, stop_work
from console.screens.frame import FrameScreen
from state.outside_text import plain_line
from state.records.data import DataPreparation, DataWork
from widgets import figures
from widgets.data.columns import now_of
from widgets.data.funnel import Funnel
from widgets.facts import Fact, Facts


class PreparationScreen(FrameScreen):
    """The funnel moves while rows are read; the shares come when all is read."""

    TITLE_TEXT = "Preparation"
    BELONGS_TO = "Data"
    PLACES = ("data preparation", "data work", "details")
    TOPICS = frozenset({"data"})
    BINDINGS: ClassVar[list[BindingType]] = [
        *bindings("data preparation"), *bindings("data work"), *bindings("details"),
    ]  # fmt: skip
    DEFAULT_CSS = """
    PreparationScreen {
        & Facts { height: 5; }
        & VerticalScroll { height: 1fr; border-top: solid $panel-lighten-1; }
    }
    """

    def __init__(self, row: DataPreparation) -> None:
        super().__init__()
        self.row = row

    def title_text(self) -> str:
        """Its name."""
        return plain_line(f"Preparation {self.row.name}", 100)

    def compose_body(self) -> ComposeResult:
        """Facts and funnel."""
        yield Facts(id="facts")
        with VerticalScroll(can_focus=True):
            yield Funnel(id="funnel")

    def on_mount(self) -> None:
        """The keys scroll the funnel."""
        self.query_one(VerticalScroll).focus()
        self._draw()

    def take(self, topic: str, record: tuple[DataWork, ...]) -> None:
        """Show it as it stands now."""
        found = (one for one in record if isinstance(one, DataPreparation) and one.id == self.row.id)
        self.row = next(found, self.row)
        self._draw()

    def redraw_ages(self) -> None:
        """Ages move on."""
        self.query_one(Facts).show(self.facts())

    def facts(self) -> tuple[Fact, ...]:
        """State, what it does, where it writes."""
        row = self.row
        took = (row.ended_at or time.time()) - row.created_at
        job = f", job {row.job_id}" if row.job_id is not None else ", in a terminal"
        return (
            ("state", plain_line(f"{row.state}{job}")),
            ("now" if row.state == "running" else "result", now_of(row) or figures.ABSENT),
            ("rows", f"{figures.count(row.rows_read)} read, {figures.duration(took)} since it began"),
            ("plan", plain_line(row.plan_path)),
            ("output", plain_line(row.output_folder)),
        )

    def action_stop_work(self) -> None:
        """Stop it."""
        stop_work(self.console, self.row)

    def action_go_on(self) -> None:
        """Go on with it."""
        go_on(self.console, self.row)

    def action_show_samples(self) -> None:
        """Records that are kept, and those that were left out with the reason."""
        from console.screens.data_samples import SamplesScreen

        self.app.push_screen(SamplesScreen(Path(self.row.output_folder), self.row.name))

    def action_write_document(self) -> None:
        """Write train_plan_vN.md beside the data, from the recorded state."""
        self.run_worker(self._write_document, thread=True)

    def _write_document(self) -> None:
        from engine.data.plan.document import write_document
        from engine.data.plan.reading import read_plan
        from engine.data.plan.recorded import recorded_for
        from engine.data.plan.records import PlanError
        from state.database import open_database
        from state.errors import StateError

        plan_path = Path(self.row.plan_path)
        try:
            with closing(open_database(self.console.folder.database_path)) as database:
                recorded = recorded_for(database, plan_path)
            path = write_document(Path(self.row.output_folder), read_plan(plan_path), recorded)
        except (PlanError, StateError) as error:
            self.console.post_message(self.console.Said(f"{error}. {error.remedy}", error=True))
        else:
            self.console.post_message(self.console.Said(f"written: {path}", error=False))

    def _draw(self) -> None:
        self.query_one(Facts).show(self.facts())
        funnel = self.query_one(Funnel)
        funnel.show(self.row)
        if funnel.styles.height is None or funnel.styles.height.value != funnel.needed():
            funnel.styles.height = funnel.needed()
