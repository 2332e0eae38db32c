"""The table as an operator uses it, and the plain functions under it."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual.app import App, ComposeResult
from textual.pilot import Pilot

from widgets.columns import GAP, Column, fit
from widgets.row_order import ordered, parse_filter
from widgets.scrolling import scrolled, thumb_range
from widgets.table import Table


class Row(msgspec.Struct, frozen=True):
    id: int
    name: str
    state: str = "running"
    rate: float | None = None


COLUMNS = [
    Column[Row]("ID", lambda row: str(row.id), 6, "right", sort_key=lambda row: row.id),
    Column[Row]("Name", lambda row: row.name, 10, grows=True, sort_key=lambda row: row.name),
    Column[Row]("State", lambda row: row.state, 8, priority=1),
    Column[Row]("Rate", lambda row: str(row.rate), 6, "right", priority=2, sort_key=lambda row: row.rate),
]
ROWS = [Row(index, f"job {index}", rate=float(index % 7) or None) for index in range(10_000)]


class TableApp(App[None]):
    def __init__(self) -> None:
        super().__init__()
        self.opened: list[Row] = []
        self.highlighted: list[Row | None] = []

    def compose(self) -> ComposeResult:
        yield Table(COLUMNS, key=lambda row: row.id, empty="No jobs yet.")

    def on_table_opened(self, message: Table.Opened) -> None:
        self.opened.append(message.record)

    def on_table_highlighted(self, message: Table.Highlighted) -> None:
        self.highlighted.append(message.record)

    @property
    def table(self) -> Table[Row]:
        return self.query_one(Table)


def screen(pilot: Pilot[None]) -> list[str]:
    return [strip.text.rstrip() for strip in pilot.app.screen._compositor.render_strips()]


async def test_it_moves_opens_and_shows_ten_thousand_rows() -> None:
    app = TableApp()
    async with app.run_test(size=(50, 12)) as pilot:
        app.table.show(ROWS)
        await pilot.press("j", "down", "k")
        assert app.table.selected == ROWS[1]
        await pilot.press("G")
        assert app.table.selected == ROWS[-1]
        assert any("job 9999" in line for line in screen(pilot))
        await pilot.press("pageup", "g", "enter")
        assert app.opened == [ROWS[0]]
        assert app.highlighted[-1] == ROWS[0]


async def test_the_cursor_stays_on_its_record_when_rows_come_and_go() -> None:
    app = TableApp()
    async with app.run_test(size=(50, 12)) as pilot:
        app.table.show(ROWS[:20])
        assert app.table.select(7)
        app.table.show([Row(100 + index, "new") for index in range(5)] + ROWS[:20])
        await pilot.pause()
        assert app.table.selected == ROWS[7]
        app.table.show(ROWS[10:20])
        assert app.table.selected in ROWS[10:20]
        app.table.show([])
        assert app.table.selected is None
        await pilot.pause()
        assert any("No jobs yet." in line for line in screen(pilot))


async def test_sorting_by_keys_and_by_a_click_on_the_title() -> None:
    app = TableApp()
    async with app.run_test(size=(50, 12)) as pilot:
        app.table.show([Row(1, "b", rate=None), Row(2, "c", rate=5), Row(3, "a", rate=9)])
        await pilot.press("s", "s")
        assert [row.name for row in app.table.rows] == ["a", "b", "c"]
        await pilot.press("S")
        assert [row.name for row in app.table.rows] == ["c", "b", "a"]
        await pilot.click(Table, offset=(46, 0))
        assert [row.rate for row in app.table.rows] == [5, 9, None]
        await pilot.click(Table, offset=(46, 0))
        assert [row.rate for row in app.table.rows] == [9, 5, None]


async def test_a_click_takes_the_cursor_and_a_second_one_opens() -> None:
    app = TableApp()
    async with app.run_test(size=(50, 12)) as pilot:
        app.table.show(ROWS[:5])
        await pilot.click(Table, offset=(3, 3))
        assert app.table.selected == ROWS[2]
        assert app.opened == []
        await pilot.click(Table, offset=(3, 3), times=2)
        assert app.opened == [ROWS[2]]


async def test_a_filter_hides_rows_and_says_so() -> None:
    app = TableApp()
    async with app.run_test(size=(60, 12)) as pilot:
        app.table.show(ROWS[:50])
        app.table.filter("job 1$")
        assert app.table.rows == []
        app.table.filter("job 4[01]")
        assert [row.id for row in app.table.rows] == [40, 41]
        app.table.filter("nothing like this")
        await pilot.pause()
        assert any("50 hidden" in line for line in screen(pilot))


@pytest.mark.parametrize(("width", "titles"), [(60, "ID Name State Rate"), (32, "ID Name State"), (12, "ID")])
async def test_a_narrow_screen_drops_columns_by_priority(width: int, titles: str) -> None:
    app = TableApp()
    async with app.run_test(size=(width, 6)) as pilot:
        app.table.show(ROWS[:5])
        await pilot.pause()
        assert screen(pilot)[0].split() == titles.split()


async def test_one_changed_record_draws_one_row() -> None:
    app = TableApp()
    async with app.run_test(size=(50, 12)) as pilot:
        app.table.show(ROWS[:8])
        await pilot.pause()
        before = list(app.table._strips)
        app.table.show([*ROWS[:4], Row(4, "changed"), *ROWS[5:8]])
        changed = [y for y, strip in enumerate(app.table._strips) if strip is not before[y]]
        assert changed == [5]


async def test_outside_text_is_harmless_and_markup_is_text() -> None:
    app = TableApp()
    async with app.run_test(size=(60, 6)) as pilot:
        app.table.show([Row(1, "\x1b[31m[bold]evil[/bold]\x07\u202e\nx")])
        await pilot.pause()
        assert "[bold]evil[/bold] x" in screen(pilot)[1]


@given(st.integers(0, 30), st.integers(0, 12))
async def test_any_size_draws_something(width: int, height: int) -> None:
    app = TableApp()
    async with app.run_test(size=(max(width, 1), max(height, 1))):
        app.table.show(ROWS[:30])
        assert all(strip.cell_length == app.table.content_size.width for strip in app.table._strips)


columns = st.lists(
    st.builds(
        lambda width, priority, grows: Column[Row]("t", lambda row: row.name, width, priority=priority, grows=grows),
        st.integers(1, 20), st.integers(0, 3), st.booleans(),
    ),
    min_size=1, max_size=8,
)  # fmt: skip


@given(columns, st.integers(0, 120))
def test_columns_never_exceed_the_width_and_growing_ones_fill_it(columns: list[Column[Row]], width: int) -> None:
    fitted = fit(columns, width)
    used = sum(cells for _, cells in fitted) + GAP * (len(fitted) - 1)
    assert 1 <= len(fitted) <= len(columns)
    assert used <= width
    if any(columns[index].grows for index, _ in fitted):
        assert used == width
    kept = {index for index, _ in fitted}
    for dropped in set(range(len(columns))) - kept:
        assert all(columns[index].priority <= columns[dropped].priority for index in kept)


@given(st.lists(st.tuples(st.one_of(st.none(), st.integers()), st.integers())), st.booleans())
def test_absent_values_come_last_in_both_directions(rows: list[tuple[int | None, int]], reverse: bool) -> None:
    keys = [key for key, _ in ordered(rows, lambda row: row[0], reverse=reverse)]
    present = [key for key in keys if key is not None]
    assert keys == sorted(present, reverse=reverse) + [None] * (len(keys) - len(present))


@pytest.mark.parametrize(
    ("typed", "matches", "hides"),
    [
        ("run", "RUNNING", "done"),
        ("!run", "done", "running"),
        ("a|b", "xbx", "xcx"),
        ("[", "a [ b", "ab"),
        ("~rgk", "regen-kimi", "kimi-regen"),
        ("-f rgk", "regen-kimi", "kimi-regen"),
        ("", "anything", None),
        ("!", "anything", None),
    ],
)
def test_the_grammar_of_filters(typed: str, matches: str, hides: str | None) -> None:
    test = parse_filter(typed)
    assert test(matches)
    assert hides is None or not test(hides)


@given(st.text(max_size=20), st.text(max_size=50))
def test_no_filter_breaks(typed: str, row: str) -> None:
    assert parse_filter(typed)(row) in (True, False)


@given(st.integers(0, 500), st.integers(0, 500), st.integers(1, 60), st.integers(1, 500))
def test_the_cursor_is_always_in_sight(top: int, cursor: int, page: int, total: int) -> None:
    cursor = min(cursor, total - 1)
    first = scrolled(top, cursor, page, total)
    assert first <= cursor < first + page
    assert 0 <= first <= max(0, total - page)
    thumb = thumb_range(first, page, total)
    assert 0 <= thumb.start <= thumb.stop <= page
