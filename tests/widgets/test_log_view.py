"""Logs: nothing is lost that fits, nothing grows without bound, nothing reaches the terminal as a control sequence."""

import re

from hypothesis import given
from hypothesis import strategies as st
from textual.app import App, ComposeResult

from widgets.log_buffer import LONGEST_LINE, LogBuffer
from widgets.log_view import LogView


def kept(buffer: LogBuffer) -> list[str]:
    return buffer.window(buffer.first, buffer.end - buffer.first)


lines = st.lists(st.text(alphabet="ab c", max_size=12), max_size=30)


@given(lines, st.lists(st.integers(0, 300), max_size=8))
def test_chunks_may_be_cut_anywhere(lines: list[str], cuts: list[int]) -> None:
    log = "".join(f"{line}\n" for line in lines)
    ends = sorted(min(cut, len(log)) for cut in cuts)
    buffer = LogBuffer()
    for start, end in zip([0, *ends], [*ends, len(log)], strict=True):
        buffer.push(log[start:end])
    assert kept(buffer) == lines


@given(st.text(max_size=300))
def test_any_text_is_harmless(text: str) -> None:
    buffer = LogBuffer()
    buffer.push(text)
    buffer.push("\n")
    for line in kept(buffer):
        assert not re.search(r"[\x00-\x1f\x7f-\x9f\u202a-\u202e]", line)


def test_old_lines_go_and_numbers_stay() -> None:
    buffer = LogBuffer(most_lines=10)
    buffer.push("".join(f"line {number}\n" for number in range(25)))
    assert (buffer.first, buffer.end) == (15, 25)
    assert buffer.line(20) == "line 20"
    assert buffer.line(3) == ""


def test_a_progress_line_shows_its_last_state() -> None:
    buffer = LogBuffer()
    buffer.push(" 10%|#   \r 20%|##  ")
    buffer.push("\r 30%|### \r")
    assert kept(buffer) == [" 30%|### "]
    buffer.push("\r100%|####\r\nnext\r\n")
    assert kept(buffer) == ["100%|####", "next"]


def test_an_endless_line_is_cut_and_does_not_grow() -> None:
    buffer = LogBuffer()
    for _ in range(50):
        buffer.push("x" * 100_000)
    assert len(kept(buffer)[0]) == LONGEST_LINE
    assert kept(buffer)[0].endswith("…")


class LogApp(App[None]):
    def compose(self) -> ComposeResult:
        yield LogView()

    @property
    def view(self) -> LogView:
        return self.query_one(LogView)

    def text(self) -> list[str]:
        return [strip.text.rstrip() for strip in self.screen._compositor.render_strips()]


async def test_it_follows_until_the_reader_scrolls_up_and_again_after_the_end() -> None:
    app = LogApp()
    async with app.run_test(size=(40, 6)) as pilot:
        app.view.push("".join(f"line {number}\n" for number in range(100)))
        await pilot.pause()
        assert app.text()[-1] == "line 99"
        await pilot.press("k")
        app.view.push("line 100\n")
        await pilot.pause()
        assert app.text()[-1] == "line 98"
        await pilot.press("G")
        assert app.text()[-1] == "line 100"
        await pilot.press("g")
        assert app.text()[0] == "line 0"


async def test_search_and_jumps_to_errors() -> None:
    app = LogApp()
    async with app.run_test(size=(40, 8)) as pilot:
        rows = [f"line {number}" for number in range(60)]
        rows[10] = "CUDA error: out of memory"
        rows[40] = "ValueError: bad width"
        app.view.push("\n".join(rows) + "\n")
        await pilot.press("g", "e")
        assert app.view.marked == 10
        await pilot.press("e")
        assert app.view.marked == 40
        await pilot.press("E")
        assert app.view.marked == 10
        assert app.view.search("LINE 5")
        assert app.view.marked == 59
        await pilot.press("N")
        assert app.view.marked == 58
        assert not app.view.search("nowhere")


async def test_long_lines_wrap_on_request() -> None:
    app = LogApp()
    async with app.run_test(size=(20, 6)) as pilot:
        app.view.push("a" * 30 + "b" * 5 + "\nend\n")
        await pilot.pause()
        assert app.text()[0] == "a" * 19 + "…"
        await pilot.press("w")
        assert app.text()[:3] == ["a" * 20, "a" * 10 + "b" * 5, "end"]
