"""The end of a log, and what is added to it."""

import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.command_line import log_tail
from console.command_line.log_tail import LogTail


@given(
    st.lists(st.text(st.characters(codec="ascii", categories=["L", "N"]), max_size=20), max_size=40),
    st.integers(0, 50),
    st.booleans(),
    st.integers(1, 64),
)
def test_the_last_lines_whatever_the_block_size(lines: list[str], count: int, ended: bool, block: int) -> None:
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(log_tail, "BLOCK_BYTES", block)
        path = Path(folder) / "log.txt"
        text = "\n".join(lines) + ("\n" if ended and lines else "")
        path.write_text(text)
        assert LogTail(path, count).new_lines(last=True) == (text.splitlines()[-count:] if count else [])


def test_it_follows_half_lines_and_a_rotation(tmp_path: Path) -> None:
    path = tmp_path / "log.txt"
    tail = LogTail(path, 10)
    assert tail.new_lines(last=False) == []
    path.write_bytes(b"one\ntw")
    assert tail.new_lines(last=False) == ["one"]
    with path.open("ab") as file:
        file.write("o \x1b[31mred\x1b[0m ü\n".encode())
    assert tail.new_lines(last=False) == ["two red ü"]
    path.write_bytes(b"new\nrest")
    assert tail.new_lines(last=False) == ["new"]
    assert tail.new_lines(last=True) == ["rest"]


def test_a_line_without_end_is_cut(tmp_path: Path) -> None:
    path = tmp_path / "log.txt"
    path.write_bytes(b"x" * 1_000_000)
    (line,) = LogTail(path, 10).new_lines(last=False)
    assert len(line) == log_tail.LONGEST_LINE
