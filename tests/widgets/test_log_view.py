"""The view of a log by its keys, with the thread that reads a real file."""

import time
from collections.abc import Callable
from pathlib import Path

from textual.app import App, ComposeResult
from textual.message import Message
from textual.pilot import Pilot

from console.feed.log_reader import LogReader
from tests.limits import LIMIT_S
from widgets.log_page import LogAsk, LogPage
from widgets.log_view import LogView


class LogApp(App[None]):
    class Turned(Message):
        def __init__(self, page: LogPage) -> None:
            super().__init__()
            self.page = page

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.reader = LogReader(path, lambda page: self.post_message(self.Turned(page)) and None)

    def compose(self) -> ComposeResult:
        yield LogView()

    def on_mount(self) -> None:
        self.query_one(LogView).focus()
        self.reader.start()

    def on_unmount(self) -> None:
        self.reader.end()

    def on_log_app_turned(self, event: Turned) -> None:
        self.query_one(LogView).show(event.page)

    def on_log_view_asked(self, event: LogView.Asked) -> None:
        self.reader.ask(event.ask)

    def text(self) -> list[str]:
        return [strip.text.rstrip() for strip in self.screen._compositor.render_strips()]

    def marked(self) -> str:
        page = self.query_one(LogView).record or LogPage()
        return next((row.text for row in page.rows if row.place == page.marked), "")


async def until(pilot: Pilot[None], condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + LIMIT_S
    while not condition():
        assert time.monotonic() < deadline, pilot.app.text()  # type: ignore[attr-defined]
        await pilot.pause(0.02)


async def test_it_follows_until_the_reader_scrolls_up_and_again_after_the_end(tmp_path: Path) -> None:
    path = tmp_path / "log.txt"
    path.write_text("".join(f"line {number}\n" for number in range(100)))
    app = LogApp(path)
    async with app.run_test(size=(40, 6)) as pilot:
        await until(pilot, lambda: app.text()[-1] == "line 99")
        await pilot.press("k")
        await until(pilot, lambda: app.text()[-1] == "line 98")
        with path.open("a") as log:
            log.write("line 100\n")
        await pilot.press("G")
        await until(pilot, lambda: app.text()[-1] == "line 100")
        await pilot.press("g")
        await until(pilot, lambda: app.text()[0] == "line 0")


async def test_search_filter_and_jumps_to_errors(tmp_path: Path) -> None:
    path = tmp_path / "log.txt"
    rows = [f"line {number}" for number in range(60)]
    rows[10], rows[40] = "CUDA error: out of memory", "ValueError: bad width"
    path.write_text("\n".join(rows) + "\n")
    app = LogApp(path)
    async with app.run_test(size=(40, 8)) as pilot:
        await until(pilot, lambda: app.text()[-1] == "line 59")
        for key, row in (("E", rows[40]), ("E", rows[10]), ("e", rows[40])):
            await pilot.press(key)
            await until(pilot, lambda row=row: app.marked() == row)  # type: ignore[misc]
        app.reader.ask(LogAsk("search", text="LINE 5"))
        await until(pilot, lambda: app.marked() == "line 59")
        await pilot.press("N")
        await until(pilot, lambda: app.marked() == "line 58")
        app.reader.ask(LogAsk("filter", text="error"))
        await until(pilot, lambda: [row for row in app.text() if row] == [rows[10], rows[40]])


async def test_long_lines_wrap_on_request(tmp_path: Path) -> None:
    path = tmp_path / "log.txt"
    path.write_text("a" * 30 + "b" * 5 + "\nend\n")
    app = LogApp(path)
    async with app.run_test(size=(20, 6)) as pilot:
        await until(pilot, lambda: app.text()[0].startswith("a" * 18))
        await pilot.press("w")
        await until(pilot, lambda: app.text()[:3] == ["a" * 20, "a" * 10 + "b" * 5, "end"])
