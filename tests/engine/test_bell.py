"""The bell only hastens: whatever lies in its place, a command is answered."""

import asyncio
import os
import stat
from pathlib import Path

import pytest

from engine.bell import heard, ring
from tests.limits import LIMIT_S


async def test_a_ring_is_heard_and_many_are_one(tmp_path: Path) -> None:
    with heard(tmp_path / "bell") as rung:
        for _ in range(70_000):  # more than a pipe holds
            ring(tmp_path / "bell")
        async with asyncio.timeout(LIMIT_S):
            await rung.wait()
    assert stat.S_IMODE((tmp_path / "bell").stat().st_mode) == 0o600


async def test_a_bell_of_an_engine_that_died_is_taken_over(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "bell")
    ring(tmp_path / "bell")  # nobody listens: no wait, no error
    with heard(tmp_path / "bell") as rung:
        assert not rung.is_set()
        ring(tmp_path / "bell")
        async with asyncio.timeout(LIMIT_S):
            await rung.wait()


@pytest.mark.parametrize("kind", ["file", "symlink"])
async def test_what_is_no_pipe_is_replaced_and_never_written(kind: str, tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.write_text("kept")
    if kind == "symlink":
        (tmp_path / "bell").symlink_to(precious)
    else:
        (tmp_path / "bell").write_text("kept")
    ring(tmp_path / "bell")
    assert precious.read_text() == "kept" == (tmp_path / "bell").read_text()
    with heard(tmp_path / "bell") as rung:
        ring(tmp_path / "bell")
        async with asyncio.timeout(LIMIT_S):
            await rung.wait()
    assert precious.read_text() == "kept"


async def test_where_no_pipe_can_be_made_nothing_fails(tmp_path: Path) -> None:
    (tmp_path / "bell").mkdir()
    with heard(tmp_path / "bell") as rung:
        ring(tmp_path / "bell")
        assert not rung.is_set()
