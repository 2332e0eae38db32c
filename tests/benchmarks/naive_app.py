"""The console as Textual's own widgets would draw it, to compare with: 8 sparklines and a table of 20 rows, at 1 Hz."""

import random

from textual.app import App, ComposeResult
from textual.containers import Grid, Vertical
from textual.widgets import DataTable, Footer, Header, Sparkline, Static


class NaiveApp(App[None]):
    CSS = """
    Grid { grid-size: 4 2; height: 10; }
    Vertical { border: round $primary; }
    Sparkline { height: 2; }
    """

    def compose(self) -> ComposeResult:
        yield Header()
        with Grid():
            for gpu in range(8):
                with Vertical():
                    yield Static(f"GPU {gpu}", id=f"text{gpu}")
                    yield Sparkline([0.0] * 120, id=f"line{gpu}")
        yield DataTable()
        yield Footer()

    def on_mount(self) -> None:
        self.random = random.Random(1)
        self.readings = [[self.random.uniform(60, 90) for _ in range(120)] for _ in range(8)]
        table = self.query_one(DataTable)
        self.columns_of_table = table.add_columns("GPU", "Util", "Memory", "Temp", "Power", "Clock", "Job", "ETA")
        self.keys = [table.add_row(*self.row(index)) for index in range(20)]
        self.set_interval(1, self.tick)

    def row(self, index: int) -> list[str]:
        pick = self.random.randint
        return [str(index % 8), f"{pick(0, 100)} %", f"{pick(0, 141)} GiB", f"{pick(30, 85)} °C", f"{pick(90, 700)} W",
                f"{pick(300, 1980)} MHz", f"job-{index}", f"{pick(0, 23)} h {pick(0, 59):02d} min"]  # fmt: skip

    def tick(self) -> None:
        table = self.query_one(DataTable)
        for gpu, readings in enumerate(self.readings):
            readings.append(min(100, max(0, readings.pop(0) + self.random.uniform(-8, 8))))
            self.query_one(f"#line{gpu}", Sparkline).data = list(readings)
            self.query_one(f"#text{gpu}", Static).update(f"GPU {gpu} {readings[-1]:.0f} %")
        for index, key in enumerate(self.keys):
            for column, value in zip(self.columns_of_table, self.row(index), strict=True):
                table.update_cell(key, column, value)


if __name__ == "__main__":
    NaiveApp().run()
