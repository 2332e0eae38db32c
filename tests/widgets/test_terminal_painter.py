"""Whatever an application draws, the stream of changes gives the same screen as the full stream."""

import gc
import re
from collections.abc import Sequence

import pyte
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.widgets.screens import shown, terminal
from widgets.terminal.cells import Cell
from widgets.terminal.painter import LEAST_SYNCHRONISED, Painter

WIDTH, HEIGHT = 14, 5
STYLES = [
    "",
    "0",
    "1",
    "2",
    "1;2",
    "3",
    "4",
    "7",
    "9",
    "31",
    "44",
    "22",
    "24",
    "27",
    "39",
    "49",
    "1;38;2;9;8;7;48;2;1;2;3",
    "38;5;200",
]
texts = st.text(alphabet="ab  X│█⣿é宽字", min_size=1, max_size=8)
pieces = st.one_of(
    st.builds(lambda x, y: f"\x1b[{y};{x}H", st.integers(1, WIDTH), st.integers(1, HEIGHT)),
    st.builds(lambda s: f"\x1b[{s}m", st.sampled_from(STYLES)),
    texts,
    texts,
    st.builds(lambda n, way: f"\x1b[{n}{way}", st.integers(1, 4), st.sampled_from("ABCDGd")),
    st.sampled_from(["\r", "\n", "\x1b[?25l", "\x07", "\x1b[?2026h", "\x1b[?2026l", "e\u0301", "\x1b[2J", "\x1b[K"]),
    st.sampled_from(["\x1b[0m", "\x1b[3L", "\x1b7", "\x1b]52;c;YQ==\x07", "\x1b]8;;http://a\x1b\\", "\x1b]8;;\x1b\\"]),
)
frames = st.lists(st.lists(pieces, max_size=12).map("".join), min_size=1, max_size=8)


def repaint(text: str) -> str:
    return "".join(f"\x1b[{y + 1};1H{line}" for y, line in enumerate(text.split("\n")))


def cells_kept() -> int:
    gc.collect()
    return sum(isinstance(one, Cell) for one in gc.get_objects())


def assert_same(frames: Sequence[str], width: int = WIDTH, height: int = HEIGHT) -> None:
    full, changes = terminal(width, height), terminal(width, height)
    full_stream, changes_stream = pyte.Stream(full), pyte.Stream(changes)
    painter = Painter(width, height)
    for frame in frames:
        full_stream.feed(frame)
        changes_stream.feed(painter.feed(frame))
    changes_stream.feed(painter.feed("\x1b[?2026l"))
    assert shown(changes) == shown(full)


@settings(max_examples=400, deadline=None)
@given(frames)
def test_any_frames_look_the_same(frames: list[str]) -> None:
    assert_same(frames)


@settings(max_examples=100, deadline=None)
@given(st.lists(pieces, max_size=30).map("".join), st.lists(st.integers(0, 200), max_size=6))
def test_a_stream_may_be_cut_anywhere(stream: str, cuts: list[int]) -> None:
    ends = sorted(min(cut, len(stream)) for cut in cuts)
    assert_same([stream[a:b] for a, b in zip([0, *ends], [*ends, len(stream)], strict=True)])


def test_nothing_is_sent_for_a_frame_that_looks_the_same() -> None:
    painter = Painter(20, 3)
    frame = repaint("\x1b[1;31mhello\x1b[0m world\nsecond")
    assert painter.feed(frame)
    assert painter.feed(frame) == ""


def test_one_changed_digit_costs_a_few_bytes() -> None:
    painter = Painter(40, 3)
    painter.feed(repaint("\x1b[38;2;1;2;3mrate 829 tok/s\x1b[0m") + "\x1b[H")
    assert len(painter.feed(repaint("\x1b[38;2;1;2;3mrate 828 tok/s\x1b[0m") + "\x1b[H")) < 28


def test_cells_of_text_that_has_gone_are_not_kept() -> None:
    painter = Painter(100, 3)
    before = cells_kept()
    for number in range(3000):
        painter.feed(repaint(f"\x1b[31m{number:096d}\x1b[0m"))
    assert cells_kept() - before < 1000


def test_a_gap_of_another_style_is_not_written_over() -> None:
    first = repaint("a\x1b[31mb\x1b[0mc")
    assert_same([first, repaint("X\x1b[31mb\x1b[0mY")])


def test_everything_is_sent_again_after_a_resize() -> None:
    painter = Painter(20, 3)
    frame = repaint("hello")
    painter.feed(frame)
    painter.resize(30, 4)
    assert "hello" in painter.feed(frame)


@pytest.mark.parametrize("unknown", ["\x1b[?1049h", "\x1bc", "\x1b[2J", "\x1bPq#0\x1b\\", "\x1b[5S"])
def test_the_unknown_passes_and_the_next_frame_is_drawn_in_full(unknown: str) -> None:
    painter = Painter(20, 3)
    painter.feed(repaint("hello"))
    assert unknown in painter.feed(unknown)
    assert "hello" in painter.feed(repaint("hello"))


@pytest.mark.parametrize(
    "neutral", ["\x1b[?2004h", "\x1b]52;c;aGk=\x07", "\x1b[>29u", "\x1b[?2026$p", "\x07", "\x1b[2 q"]
)
def test_modes_questions_and_the_clipboard_pass_and_nothing_is_drawn_again(neutral: str) -> None:
    painter = Painter(20, 3)
    painter.feed(repaint("hello"))
    assert painter.feed(neutral) == neutral
    assert painter.feed(repaint("hello")) == ""


def test_links_are_opened_and_closed_round_their_text() -> None:
    painter = Painter(20, 2)
    sent = painter.feed(repaint("a\x1b]8;id=1;http://x\x1b\\link\x1b]8;;\x1b\\b"))
    assert re.search(r"a\x1b\]8;id=1;http://x\x1b\\link\x1b\]8;;\x1b\\b", sent)


def test_a_synchronised_frame_is_sent_at_its_end_in_one_piece() -> None:
    painter = Painter(80, 30)
    assert painter.feed("\x1b[?2026h") == ""
    assert painter.feed(repaint("\n".join(["x" * 80] * 30))) == ""
    sent = painter.feed("\x1b[?2026l")
    assert len(sent) > LEAST_SYNCHRONISED
    assert sent.startswith("\x1b[?2026h")
    assert sent.endswith("\x1b[?2026l")


@given(frames)
@settings(max_examples=100, deadline=None)
def test_no_colour_is_sent_where_none_is_wanted(frames: list[str]) -> None:
    painter = Painter(WIDTH, HEIGHT, colourless=True)
    sent = "".join(painter.feed(frame) for frame in frames)
    for codes in re.findall(r"\x1b\[([0-9;]*)m", sent):
        assert all(int(code or 0) < 30 or 51 <= int(code) <= 55 for code in codes.split(";")), codes
