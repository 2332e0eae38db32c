"""All GPUs, and who is on them."""

from collections.abc import Sequence
from typing import Any

from console.screens.listing import ListingScreen
from state.records.views import GpuRow, GpusView
from widgets.gpus.columns import GPU_COLUMNS
from widgets.table import Table


class GpusScreen(ListingScreen):
    """One row for each GPU and MIG instance."""

    TITLE_TEXT = "GPUs"
    PLACES = ("lists",)
    TOPICS = frozenset({"gpus"})

    def make_table(self) -> Table[Any]:
        """The table."""
        return Table(GPU_COLUMNS, key=lambda row: row.gpu.uuid, empty="No reading yet.", id="table")

    def rows(self, record: GpusView) -> Sequence[GpuRow]:
        """The GPUs; where there are none, the table says why."""
        if not record.rows and record.status is not None:
            self.table.empty = f"{record.status.message.rstrip('.')}. {record.status.remedy}"
            self.table.redraw()
        return record.rows

    def open_record(self, record: GpuRow) -> None:
        """Show one GPU over time."""
        from console.screens.gpu import GpuScreen

        self.app.push_screen(GpuScreen(record))
