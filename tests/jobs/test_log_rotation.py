"""A job's log stays bounded, and what is kept is whole."""

import tempfile
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from engine.jobs.log_rotation import LogKeeper, rotate


def append(log: Path, content: bytes) -> None:
    with log.open("ab") as file:
        file.write(content)


def test_a_full_log_moves_on_and_a_small_one_stays(tmp_path: Path) -> None:
    log = tmp_path / "log.txt"
    append(log, b"a" * 50)
    assert not LogKeeper(log, largest_bytes=100).look()
    with log.open("ab") as child:  # which goes on writing to the file that it opened
        child.write(b"b" * 50)
        child.flush()
        assert LogKeeper(log, largest_bytes=100).look()
        child.write(b"c")
    assert log.read_bytes() == b"c"
    assert (tmp_path / "log.1.txt").read_bytes() == b"a" * 50 + b"b" * 50


def test_the_oldest_is_dropped(tmp_path: Path) -> None:
    log = tmp_path / "log.txt"
    for number in range(5):
        append(log, str(number).encode() * 10)
        rotate(log, largest_bytes=10, kept=3)
    assert [(tmp_path / f"log.{n}.txt").read_bytes()[:1] for n in (1, 2, 3)] == [b"4", b"3", b"2"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["log.1.txt", "log.2.txt", "log.3.txt", "log.txt"]


def test_a_flood_is_cut_and_the_log_says_so(tmp_path: Path) -> None:
    log = tmp_path / "log.txt"
    append(log, b"x" * 1000 + b"end")
    rotate(log, largest_bytes=10, kept=3)
    assert (tmp_path / "log.1.txt").read_bytes() == b"x" * 7 + b"end"
    assert b"993 bytes were dropped" in log.read_bytes()


def test_a_log_that_is_gone_is_no_trouble(tmp_path: Path) -> None:
    assert not LogKeeper(tmp_path / "log.txt").look()


@given(st.lists(st.binary(max_size=300), max_size=30))
def test_disk_use_is_bounded_and_order_is_kept(chunks: list[bytes]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log.txt"
        for chunk in chunks:
            append(log, chunk)
            LogKeeper(log, largest_bytes=400, kept=2).look()
            used = sum(path.stat().st_size for path in Path(folder).iterdir())
            assert used <= 3 * 400 + 300 + 100
        kept = [Path(folder) / name for name in ("log.2.txt", "log.1.txt", "log.txt")]
        found = b"".join(path.read_bytes() for path in kept if path.exists())
        if b"[alula:" not in found:
            assert b"".join(chunks).endswith(found)
