"""Plan editor: each source's share as a bar that keys make longer and shorter."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from textual.binding import BindingType

from console.actions import bindings
from console.screens.ask_first import ask_first
from console.screens.data_actions import prepare
from console.screens.listing import ListingScreen
from engine.data.plan.editing import parts_of_plan, share_of, with_share, with_total, without
from engine.data.plan.reading import parse_plan
from engine.data.plan.records import Plan, PlanError, Target
from state.outside_file import read_small_text
from state.outside_text import plain_line
from state.records.data import DataSet, PlanPart
from widgets import figures
from widgets.data.plan import PLAN_COLUMNS
from widgets.table import Table

if TYPE_CHECKING:
    from console.app import Console

STEP = 0.01


class PlanScreen(ListingScreen):
    """Changes a plan in memory; nothing is written before it is saved."""

    TITLE_TEXT = "Plan"
    BELONGS_TO = "Data"
    PLACES = ("data plan", "lists", "details")
    BINDINGS: ClassVar[list[BindingType]] = [*bindings("data plan"), *bindings("details")]

    def __init__(self, plan: Plan, path: Path, *, saved: bool) -> None:
        super().__init__()
        self.plan = plan
        self.path = path
        self.saved = saved
        self._before: list[Plan] = []

    def title_text(self) -> str:
        """Name, total, and whether it is saved."""
        total = "all records" if self.plan.total is None else f"{figures.count(self.plan.total)} records"
        mark = "" if self.saved else "  NOT SAVED: ^s"
        return plain_line(f"Plan {self.plan.name}: {total}{mark}  {self.path}", 200)

    def make_table(self) -> Table[Any]:
        """A row for each source."""
        return Table(PLAN_COLUMNS, key=lambda row: row.name, empty="The plan has no source.", id="table")

    def on_mount(self) -> None:
        """Show it."""
        super().on_mount()
        self._show()

    def action_longer(self) -> None:
        """Give the source under the cursor more of the total; the others give it, by their own shares."""
        self._change_share(STEP)

    def action_shorter(self) -> None:
        """Give it less."""
        self._change_share(-STEP)

    def action_set_total(self) -> None:
        """Ask for the number of records."""
        from console.screens.text_question import TextQuestion

        def answered(text: str | None) -> None:
            if text is None:
                return
            digits = text.replace(" ", "").replace(",", "")
            if digits and (not digits.isdecimal() or int(digits) < 1):
                self.notify(f"{plain_line(text, 40)} is no number of records", severity="error", markup=False)
                return
            self._change(with_total(self.plan, int(digits) if digits else None))

        shown = "" if self.plan.total is None else str(self.plan.total)
        self.app.push_screen(TextQuestion("Records of the mix; nothing: take all", shown), answered)

    def open_record(self, record: PlanPart) -> None:
        """Ask for its share."""
        from console.screens.text_question import TextQuestion

        share = self._movable(record)
        if share is None:
            return

        def answered(text: str | None) -> None:
            try:
                wanted = float((text or "").rstrip(" %"))
            except ValueError:
                wanted = -1.0
            if 0 <= wanted <= 100:
                self._change(with_share(self.plan, record.name, wanted / 100))
            elif text:
                self.notify(f"{plain_line(text, 40)} is no share of 0 to 100 %", severity="error", markup=False)

        question = f"Percent of what the weights divide, for {plain_line(record.name, 60)}"
        self.app.push_screen(TextQuestion(question, f"{share * 100:.1f}"), answered)

    def action_undo(self) -> None:
        """Take the last change back."""
        if self._before:
            self.plan = self._before.pop()
            self._show()

    def action_drop_source(self) -> None:
        """Leave the source under the cursor out."""
        if (row := self.table.selected) is not None:
            self._change(without(self.plan, row.name))

    def action_save_plan(self) -> None:
        """Write it."""
        if self._save():
            self.notify(plain_line(f"written: {self.path}", 200), markup=False)

    def action_run_plan(self) -> None:
        """Save it, say what will happen, ask once, and have the engine run it."""
        if not self.saved and not self._save():
            return
        output = self.path.with_suffix("")
        hub = [one.hub for one in self.plan.source if one.hub]
        consequences = [
            f"Reads {len(self.plan.source)} sources, {len(hub)} of them from the hub, as a job on this host.",
            f"Writes shards and a manifest into {output}.",
            "Stopped or killed, it goes on with the same bytes.",
        ]

        def run() -> None:
            prepare(self.console, self.path, output, self.plan.name)

        ask_first(self.app, f"Prepare {self.plan.name}?", consequences, run, confirm="Prepare", refuse="No")

    async def action_back(self) -> None:  # type: ignore[override]
        """Close it; what is not saved is asked for once."""
        if self.saved or self.query_one("#filter").display:
            super().action_back()
            return
        self.leave(super().action_back)

    def leave(self, going: Callable[[], None]) -> None:
        """What is not saved is asked for once."""
        if self.saved:
            going()
            return
        lost = ["The changes are lost."]
        ask_first(self.app, "Leave without saving?", lost, going, confirm="Leave", refuse="No", danger=True)

    def _change_share(self, by: float) -> None:
        row: PlanPart | None = self.table.selected
        share = self._movable(row) if row is not None else None
        if row is not None and share is not None:
            self._change(with_share(self.plan, row.name, share + by))

    def _movable(self, row: PlanPart) -> float | None:
        """The share of a source, or a word on why it cannot be moved."""
        share = share_of(self.plan, row.name)
        if self.plan.total is None:
            self.notify("All records are taken. Give a total first: press T", markup=False)
        elif share is None:
            self.notify(f"{plain_line(row.name, 60)} has a quota in the file", markup=False)
        else:
            return share
        return None

    def _change(self, plan: Plan) -> None:
        self._before.append(self.plan)
        self.plan = plan
        self.saved = False
        self._show()

    def _show(self) -> None:
        self.table.show(parts_of_plan(self.plan))
        self._show_title(self.console.records.get("engine"))

    def _save(self) -> bool:
        from engine.data.plan.writing import save_plan

        try:
            save_plan(self.plan, self.path)
        except PlanError as error:
            self.notify(plain_line(f"{error}. {error.remedy}", 400), severity="error", timeout=15, markup=False)
            return False
        self.saved = True
        self._show()
        return True


def new_plan(console: "Console", sets: Sequence[DataSet], path: Path, name: str) -> None:
    """Ask how many records, and open a plan of the sets that are kept."""
    from console.screens.text_question import TextQuestion
    from engine.data.plan.writing import plan_of

    def answered(text: str | None) -> None:
        if text is None:
            return
        total = int(text) if text.isdecimal() and int(text) > 0 else None
        if text and total is None:
            console.notify(f"{plain_line(text, 40)} is no number of records", severity="error", markup=False)
            return
        plan = plan_of(sets, name=name, total=total, target=Target(), benchmarks=(), shares={})
        console.push_screen(PlanScreen(plan, path, saved=False))

    console.push_screen(TextQuestion("Records of the mix; nothing: take all", "88088"), answered)


def choose_plan(console: "Console") -> None:
    """Choose a file, and open it."""
    from console.screens.file_choice import choose_path

    choose_path(console, lambda path: open_plan(console, path))


def open_plan(console: "Console", path: Path) -> None:
    """Read a plan and open it, or say what is wrong with it."""
    try:
        plan = parse_plan(read_small_text(path), path.name)
    except PlanError as error:
        console.notify(plain_line(f"{error}. {error.remedy}", 400), severity="error", timeout=15, markup=False)
        return
    except (OSError, UnicodeDecodeError) as error:
        console.notify(plain_line(f"cannot read {path}: {error}", 400), severity="error", markup=False)
        return
    console.push_screen(PlanScreen(plan, path, saved=True))
