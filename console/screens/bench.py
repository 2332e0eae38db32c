"""All benchmarks and sweeps, the newest first."""

from typing import Any, ClassVar

from textual.binding import BindingType

from console.actions import LAUNCHABLE, bindings
from console.screens.bench_actions import export_bench, resume_bench, stop_bench
from console.screens.listing import ListingScreen
from state.records.bench import BenchRow
from widgets.bench.columns import BENCH_COLUMNS
from widgets.table import Table


class BenchScreen(ListingScreen):
    """Enter opens one: its progress, its comparison and what follows from it."""

    TITLE_TEXT = "Bench"
    PLACES = ("bench", LAUNCHABLE, "lists")
    TOPICS = frozenset({"benches"})
    BINDINGS: ClassVar[list[BindingType]] = [*bindings("bench"), *bindings(LAUNCHABLE)]
    LAUNCHES = "bench"

    def make_table(self) -> Table[Any]:
        """The table."""
        empty = "No benchmark yet. n: launch one; or: alula bench run --server URL --prompts FILE"
        return Table(BENCH_COLUMNS, key=lambda row: row.bench.id, empty=empty, id="table")

    def open_record(self, record: BenchRow) -> None:
        """Show one."""
        from console.screens.bench_run import BenchRunScreen

        self.app.push_screen(BenchRunScreen(record))

    def action_stop_bench(self) -> None:
        """Stop the one under the cursor."""
        stop_bench(self.console, self.chosen())

    def action_resume_bench(self) -> None:
        """Measure what it has not measured."""
        resume_bench(self.console, self.chosen())

    def action_export_bench(self) -> None:
        """Write the HTML report of the one under the cursor."""
        export_bench(self.console, self.chosen())
