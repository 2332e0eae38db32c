"""Panes, bars, histories, charts, questions and key help, as they come to the screen."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual.app import App, ComposeResult
from textual.content import Content

from widgets.bar import bar
from widgets.braille import columns
from widgets.chart import Chart, ChartRecord, Series, thinned, ticks, value_ticks
from widgets.confirmation import Confirmation
from widgets.history import HistorySeries
from widgets.key_footer import KeyFooter
from widgets.key_help import KeyGroup, KeyHelp, help_lines
from widgets.line import Line, to_strip
from widgets.pane import Pane
from widgets.terminal.cells import cells_of
from widgets.terminal.style import TerminalStyle


class Figures(Pane[tuple[str, ...]]):
    def lines(self, width: int, height: int) -> list[Line]:
        return [Content.assemble((text, "$success")) for text in self.record or ()]


class PaneApp(App[None]):
    CSS = "Figures { border: round $primary; }"

    def compose(self) -> ComposeResult:
        yield Figures(("one", "two"), title="Host [1]")

    def text(self) -> str:
        return "\n".join(strip.text for strip in self.screen._compositor.render_strips())


async def test_a_pane_draws_its_record_and_only_changed_rows() -> None:
    app = PaneApp()
    async with app.run_test(size=(30, 6)) as pilot:
        assert "Host [1]" in app.text()
        pane = app.query_one(Figures)
        before = list(pane._strips)
        pane.show(("one", "three"))
        assert [y for y, strip in enumerate(pane._strips) if strip is not before[y]] == [1]
        await pilot.pause()
        assert "three" in app.text()


async def test_a_pane_takes_the_colours_of_a_new_theme_and_any_size() -> None:
    app = PaneApp()
    async with app.run_test(size=(30, 6)) as pilot:
        pane = app.query_one(Figures)
        dark = pane._strips[0]
        app.theme = "textual-light"
        await pilot.pause()
        assert pane._strips[0] != dark
        for width, height in ((1, 1), (3, 2), (200, 60)):
            await pilot.resize_terminal(width, height)
            pane.show((f"{width}", "[red]no markup[/red]\x1b[2J"))
            await pilot.pause()
        assert "[red]no markup[/red] " in app.text()


async def test_muted_text_is_weaker_than_other_text_in_every_theme() -> None:
    app = PaneApp()
    async with app.run_test():
        for theme in ("textual-dark", "textual-light"):
            app.theme = theme
            plain, muted = (to_strip(Content.styled("x", style), 1, app.query_one(Figures).visual_style)
                            for style in ("auto", "$text-muted"))  # fmt: skip
            assert plain._segments[0].style != muted._segments[0].style


@given(st.one_of(st.none(), st.floats(-50, 200)), st.integers(0, 60))
def test_a_bar_has_exactly_its_width(value: float | None, width: int) -> None:
    assert bar(value, width).cell_length == width


def test_a_bar_grows_by_eighths_and_ascii_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    assert bar(50, 16).plain == "█████░░░░░  50 %"
    assert bar(51.5, 16).plain.startswith("█████▏")
    assert bar(None, 16).plain == "░░░░░░░░░░     –"
    monkeypatch.setenv("ALULA_ASCII", "1")
    assert bar(50, 16).plain == "#####.....  50 %"
    assert "".join(columns([0, 50, 100], 1, 100)).isascii()


@pytest.mark.parametrize(
    ("terminal", "asked", "plain"),
    [("linux", "", True), ("linux", "0", False), ("xterm-256color", "", False), ("xterm-256color", "1", True)],
)
def test_a_linux_console_has_no_braille(
    terminal: str, asked: str, plain: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", terminal)
    monkeypatch.setenv("ALULA_ASCII", asked)
    assert "".join(columns([50, 100], 1, 100)).isascii() is plain


def test_frames_and_signs_are_ascii_where_that_is_asked_and_names_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALULA_ASCII", "1")
    cells = cells_of("╭─✗ café ✓─│…╯ ascii", TerminalStyle())
    assert "".join(cell.text for cell in cells) == "+-x café +-|.+ ascii"


@given(st.lists(st.one_of(st.none(), st.floats(0, 100)), max_size=40), st.integers(1, 6))
def test_a_history_has_a_row_for_each_line_and_shows_more_for_more(readings: list[float | None], height: int) -> None:
    rows = columns(readings, height, 100)
    assert len(rows) == height
    assert {len(row) for row in rows} == {(len(readings) + 1) // 2}

    def dots(values: list[float | None]) -> int:
        return sum((ord(c) - 0x2800).bit_count() for row in columns(values, height, 100) for c in row if c != " ")

    assert dots(readings) <= dots([100.0] * len(readings))


def test_a_history_moves_once_in_five_seconds_and_only_its_last_column_changes_between() -> None:
    series = HistorySeries(slot_s=5)
    series.extend((float(second), float(second % 50)) for second in range(600))
    before = series.last(40)
    series.add(600.0, 90.0)
    moved = series.last(40)
    assert moved[:-2] == before[2:]
    for second in range(601, 610):
        series.add(float(second), 10.0)
        assert series.last(40)[:-2] == moved[:-2]


def test_a_history_leaves_gaps_where_nothing_was_read() -> None:
    series = HistorySeries(slot_s=1)
    series.extend([(0.0, 5.0), (1.0, None), (5.0, 7.0)])
    assert series.last(6) == [5.0, None, None, None, None, 7.0]


class ChartApp(App[None]):
    def compose(self) -> ComposeResult:
        yield Chart()


async def test_a_chart_has_title_unit_and_times() -> None:
    app = ChartApp()
    points = tuple((1_000_000.0 + 60 * step, None if step == 5 else float(step)) for step in range(60))
    async with app.run_test(size=(80, 20)) as pilot:
        app.query_one(Chart).show(ChartRecord("Accept length \x1b[31m", "tokens", (Series("server", points),)))
        await pilot.pause()
        text = "\n".join(strip.text for strip in app.screen._compositor.render_strips())
    assert "Accept length" in text
    assert "tokens" in text
    assert all(label in text for label in ticks(points[0][0], points[-1][0])[1][1:-1])


@pytest.mark.parametrize(
    ("low", "high", "labels"),
    [
        (810.0, 850.0, ["810", "820", "830", "840", "850"]),
        (0.0, 1e6, ["0", "200,000", "400,000", "600,000", "800,000", "1,000,000"]),
        (0.00012, 0.0005, ["0.0002", "0.0003", "0.0004", "0.0005"]),
        (3.0, 3.0, ["3"]),
    ],
)
def test_figures_at_an_axis_are_round(low: float, high: float, labels: list[str]) -> None:
    assert value_ticks(low, high)[1] == labels


def test_more_points_than_dots_become_means_and_gaps_stay() -> None:
    runs = [[(0.0, 1.0), (1.0, 3.0), (2.0, 5.0), (3.0, 7.0)], [(9.0, 1.0)]]
    assert thinned(runs, 3) == runs
    assert thinned(runs, 2) == [[(1.0, 3.0), (3.0, 7.0)], [(9.0, 1.0)]]


class FooterApp(App[None]):
    def compose(self) -> ComposeResult:
        yield KeyFooter()


async def test_a_narrow_footer_keeps_the_way_back_and_the_help() -> None:
    keys = (("x", "Pause"), ("r", "Resume"), ("Enter", "Open"), ("Esc", "Back"), ("?", "Help"))
    app = FooterApp()
    async with app.run_test(size=(30, 5)) as pilot:
        app.query_one(KeyFooter).show((keys, ""))
        await pilot.pause()
        assert app.query_one(KeyFooter).render_line(0).text.rstrip() == " x Pause   Esc Back   ? Help"


class QuestionApp(App[None]):
    def __init__(self) -> None:
        super().__init__()
        self.answers: list[bool | None] = []

    def ask(self, *, danger: bool) -> None:
        question = Confirmation(
            "Stop job 12?", ["Host gpu-1, process 4711.", "41 202 answers are kept."], danger=danger
        )
        self.push_screen(question, self.answers.append)


@pytest.mark.parametrize(
    ("danger", "key", "answer"),
    [
        (True, "enter", False),
        (False, "enter", True),
        (True, "y", True),
        (False, "n", False),
        (False, "escape", False),
    ],
)
async def test_a_question_is_asked_once_and_danger_needs_intent(danger: bool, key: str, answer: bool) -> None:
    app = QuestionApp()
    async with app.run_test(size=(80, 24)) as pilot:
        app.ask(danger=danger)
        await pilot.pause()
        text = "\n".join(strip.text for strip in app.screen._compositor.render_strips())
        assert "Stop job 12?" in text
        assert "41 202 answers are kept." in text
        await pilot.press(key)
        assert app.answers == [answer]


GROUPS = [
    KeyGroup("Everywhere", (("?", "this help"), ("q", "leave; jobs go on"))),
    KeyGroup("Jobs", (("x", "stop"), ("r", "retry"))),
    KeyGroup("Empty", ()),
]


def test_key_help_uses_the_width_that_there_is() -> None:
    wide, narrow = help_lines(GROUPS, 80).plain, help_lines(GROUPS, 40).plain
    assert "Everywhere" in wide.split("\n")[0]
    assert "Jobs" in wide.split("\n")[0]
    assert "Jobs" not in narrow.split("\n")[0]
    assert "Empty" not in wide
    for text in (wide, narrow):
        assert all(words in text for _, words in GROUPS[0].keys + GROUPS[1].keys)


async def test_key_help_opens_and_closes() -> None:
    app: App[None] = App()
    async with app.run_test(size=(60, 15)) as pilot:
        await app.push_screen(KeyHelp(GROUPS))
        await pilot.pause()
        assert any("leave; jobs go on" in strip.text for strip in app.screen._compositor.render_strips())
        await pilot.press("question_mark")
        assert not isinstance(app.screen, KeyHelp)
