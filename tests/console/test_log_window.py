"""Logs of any size: what is in sight, searches, filters, rotations; nothing read that need not be."""

import os
import re
import time
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from console.feed import log_file, log_search
from console.feed.log_file import LogFile
from console.feed.log_window import LogWindow
from engine.jobs.log_rotation import rotate
from tests.limits import LIMIT_S
from widgets.log_page import LogAsk

_lines = st.lists(st.text(alphabet="ab\x1b", max_size=9), max_size=40)


def opened(path: Path) -> LogWindow:
    window = LogWindow(path)
    window.refresh()
    return window


def texts(window: LogWindow) -> list[str]:
    return [row.text for row in window.page().rows]


def settle(window: LogWindow) -> None:
    """Until nothing is left to do, with a limit: a test that never ends would hold up the whole suite."""
    for _ in range(60):
        if not window.work(1.0):
            return
    raise AssertionError("it never ends")


def ask(window: LogWindow, what: str, amount: int = 0, text: str = "") -> None:
    window.ask(LogAsk(what, amount, text))  # type: ignore[arg-type]
    settle(window)


@given(_lines, st.booleans(), st.integers(1, 16))
def test_lines_forwards_and_backwards_are_the_same(
    tmp_path_factory: pytest.TempPathFactory, lines: list[str], ended: bool, cell: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(log_file, "CELL_BYTES", cell)
        patch.setattr(log_file, "FIRST_LOOK_BYTES", 3)
        path = tmp_path_factory.mktemp("log") / "log.txt"
        path.write_text("\n".join(lines) + ("\n" if ended else ""))
        log = LogFile(path)
        log.refresh()
        starts = [0]
        while (place := log.after(starts[-1])) < log.size:
            assert place > starts[-1]
            starts.append(place)
        assert (
            b"".join(log.read(low, high - low) for low, high in zip(starts, [*starts[1:], log.size], strict=True))
            == path.read_bytes()
        )
        assert [log.before(place) for place in starts[1:]] == starts[:-1]
        assert all(log.start_of(place) == max(start for start in starts if start <= place) for place in range(log.size))
        assert all(len(log.line_at(place)) <= 2 * cell for place in starts)
        log.close()


@given(_lines, st.integers(4, 40), st.booleans(), st.integers(0, 30))
@example(["a" * 9], 4, False, 0)  # a line longer than a step
def test_filters_and_searches_find_what_grep_finds(
    tmp_path_factory: pytest.TempPathFactory, lines: list[str], step: int, inverted: bool, later: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        for module in ("log_search", "log_filter"):
            patch.setattr(f"console.feed.{module}.STEP_BYTES", step)
        patch.setattr(log_file, "CELL_BYTES", 16)
        path = tmp_path_factory.mktemp("log") / "log.txt"
        first, rest = lines[:later], lines[later:]
        path.write_text("".join(f"{line}\n" for line in first))
        window = opened(path)
        ask(window, "rows", 100)
        ask(window, "filter", text="!ab" if inverted else "ab")
        with path.open("a") as log:
            log.write("".join(f"{line}\n" for line in rest))
        window.refresh()
        settle(window)
        plain = [log_search.plain_log_line(line) for line in lines]
        kept = [line for line, shown in zip(lines, plain, strict=True) if ("ab" in shown) != inverted]
        assert texts(window) == kept
        assert window.page().kept == len(kept)
        window.close()


def test_a_search_goes_up_from_the_end_and_n_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "log.txt"
    rows = [f"line {number}" for number in range(60)]
    rows[10], rows[40] = "CUDA error: out of memory", "ValueError: bad width"
    path.write_text("".join(f"{row}\n" for row in rows))
    window = opened(path)
    ask(window, "rows", 8)
    ask(window, "search", text="LINE 5")
    marked = [window.page().marked]
    for step in (-1, -1, 1):
        ask(window, "match", step)
        marked.append(window.page().marked)
    data = path.read_bytes()
    assert marked == [data.index(b"line %d\n" % number) for number in (59, 58, 57, 58)]
    ask(window, "oldest")
    assert texts(window)[0] == "line 0" and not window.page().following
    ask(window, "search", text="")
    for step, number in ((1, 10), (1, 40), (-1, 10)):
        ask(window, "error", step)
        row = next(row for row in window.page().rows if row.place == window.page().marked)
        assert row.text == rows[number]
    ask(window, "error", -1)
    assert window.page().message == "not found above"
    assert (window.page().line, window.page().lines) == (9, 60)


def test_it_follows_until_the_reader_scrolls_up(tmp_path: Path) -> None:
    path = tmp_path / "log.txt"
    path.write_text("".join(f"line {number}\n" for number in range(100)))
    window = opened(path)
    ask(window, "rows", 6)
    assert texts(window)[-1] == "line 99"
    ask(window, "scroll", -1)
    with path.open("a") as log:
        log.write("line 100\nhalf")
    window.refresh()
    assert texts(window)[-1] == "line 98"
    ask(window, "scroll", 2)
    ask(window, "scroll", 2)
    assert window.page().following and texts(window)[-1] == "half"


def test_a_rotation_is_not_noticed_by_who_reads(tmp_path: Path) -> None:
    path = tmp_path / "log.txt"
    path.write_text("".join(f"line {number}\n" for number in range(50)))
    window = opened(path)
    ask(window, "rows", 5)
    ask(window, "scroll", -10)
    before = texts(window)
    for number in range(2):
        rotate(path, 1 << 20, 3)
        path.write_text(f"new {number}\n")
        window.refresh()
        window.refresh()
        assert texts(window) == before
    ask(window, "newest")
    assert texts(window) == ["line 47", "line 48", "line 49", "new 0", "new 1"]
    ask(window, "oldest")
    assert texts(window)[0] == "line 0"


def test_progress_bars_endless_lines_and_binary_output(tmp_path: Path) -> None:
    path = tmp_path / "log.txt"
    path.write_bytes(b"x" * 10_000_000 + b"\n" + bytes(range(256)) * 4000 + b"\n 10%|#\r 20%|##\r")
    window = opened(path)
    page = window.page()
    assert log_search.plain_log_line(page.rows[-1].text) == " 20%|##"
    assert sum(len(row.text) for row in page.rows) < 30 * 2 * log_file.CELL_BYTES
    ask(window, "search", text="10%|#")
    assert window.page().marked is None  # it is not what is shown


def test_gigabytes_open_at_once(tmp_path: Path) -> None:
    """By what is read, not by a clock: a sparse file of 8 GB would take seconds to read."""
    path = tmp_path / "log.txt"
    with path.open("wb") as log:
        log.truncate(8 << 30)
        log.seek(0, os.SEEK_END)
        log.write(b"\n" + b"the end\n" * 100)
    window = opened(path)
    reads: list[int] = []
    original = LogFile.read

    def counted(self: LogFile, start: int, count: int) -> bytes:
        reads.append(count)
        return original(self, start, count)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(LogFile, "read", counted)
        assert texts(window)[-1] == "the end"
        window.ask(LogAsk("oldest"))
        window.page()
    assert sum(reads) < 8 << 20


def test_a_log_that_is_not_there_yet(tmp_path: Path) -> None:
    path = tmp_path / "log.txt"
    window = opened(path)
    for what in ("rows", "scroll", "oldest", "newest", "search", "match", "error", "filter"):
        ask(window, what, 3, "x")
    assert texts(window) == []
    ask(window, "filter", text="")
    path.write_text("now\n")
    window.refresh()
    assert texts(window) == ["now"]


def test_the_thread_tells_only_what_has_changed(tmp_path: Path) -> None:
    from console.feed.log_reader import LogReader

    path, pages = tmp_path / "log.txt", []
    path.write_text("one\n")
    reader = LogReader(path, pages.append)
    reader.start()
    deadline = time.monotonic() + LIMIT_S
    while not any(page.rows and page.lines == 1 for page in pages) and time.monotonic() < deadline:
        time.sleep(0.01)
    with path.open("a") as log:
        log.write("two\n")
    while pages[-1].lines != 2 and time.monotonic() < deadline:
        time.sleep(0.01)
    reader.end()
    reader.join(30)
    assert not reader.is_alive()
    assert [row.text for row in pages[-1].rows] == ["one", "two"]
    assert len(pages) == len({repr(page) for page in pages})
    assert re.fullmatch(r"one\ntwo\n", path.read_text())


def test_a_scroll_before_the_size_is_known_counts_from_the_end(tmp_path: Path) -> None:
    path = tmp_path / "log.txt"
    path.write_text("".join(f"{number}\n" for number in range(100)))
    window = opened(path)
    ask(window, "scroll", -1)
    ask(window, "rows", 6)
    assert texts(window)[-1] == "98"
    ask(window, "rows", 4)
    assert texts(window) == ["93", "94", "95", "96"]
    ask(window, "rows", 40)
    assert texts(window)[-1] == "99"
