"""The same jobs in Textual's own DataTable, by the same key: `python -m tests.benchmarks.naive_jobs DATABASE`."""

import sys
from contextlib import closing
from pathlib import Path
from typing import ClassVar

from textual.app import App, ComposeResult
from textual.binding import BindingType
from textual.screen import Screen
from textual.widgets import DataTable, Static

from state.database import open_database
from state.jobs import read_jobs
from widgets.jobs.columns import JOB_COLUMNS

JOBS = 5_200


class TableScreen(Screen[None]):
    def compose(self) -> ComposeResult:
        yield DataTable(cursor_type="row")

    def on_mount(self) -> None:
        table = self.query_one(DataTable)
        table.add_columns(*(column.title for column in JOB_COLUMNS))
        with closing(open_database(Path(sys.argv[1]))) as database:
            table.add_rows([column.cell(job) for column in JOB_COLUMNS] for job in read_jobs(database, JOBS))
        table.focus()


class NaiveJobs(App[None]):
    BINDINGS: ClassVar[list[BindingType]] = [("4", "jobs", "Jobs")]

    def compose(self) -> ComposeResult:
        yield Static("GPU 7")

    def action_jobs(self) -> None:
        self.push_screen(TableScreen())


if __name__ == "__main__":
    NaiveJobs().run()
