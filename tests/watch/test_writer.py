"""Writing, and being stopped in the middle of it."""

import asyncio
import random
from pathlib import Path

from engine.watch.readings import Board, Readings
from engine.watch.writer import write_readings
from state.database import open_database
from state.records.gpus import Gpu, GpuSample
from tests.limits import LIMIT_S

SAMPLES = 2000


async def test_a_second_is_written_whole_or_not_at_all_whenever_the_writer_is_stopped(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    gpu = Gpu(uuid="g", index=0, name="x", seen_at=0)
    for attempt in range(25):
        database, board = open_database(path), Board()
        first = attempt * SAMPLES
        samples = tuple(GpuSample(uuid="g", taken_at=9e9 + first + second) for second in range(SAMPLES))
        board.put(Readings(gpus=(gpu,), gpu_samples=samples))
        task = asyncio.create_task(write_readings(board, database, lambda _: None))
        await asyncio.sleep(random.random() * 0.03)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        database.close()
    with open_database(path) as again:
        (written,) = again.execute("SELECT COUNT(*) FROM gpu_sample").fetchone()
        assert written % SAMPLES == 0
        assert again.execute("PRAGMA integrity_check").fetchone() == ("ok",)


async def test_every_second_reaches_those_who_judge_it(tmp_path: Path) -> None:
    database, board = open_database(tmp_path / "state.db"), Board()
    taken: asyncio.Queue[Readings] = asyncio.Queue()
    board.put(Readings(gpus=(Gpu(uuid="g", index=0, name="x", seen_at=0),)))
    task = asyncio.create_task(write_readings(board, database, taken.put_nowait))
    async with asyncio.timeout(LIMIT_S):
        assert (await taken.get()).gpus[0].uuid == "g"
        board.put(Readings(gpu_samples=(GpuSample(uuid="g", taken_at=1.0),)))
        assert (await taken.get()).gpu_samples[0].taken_at == 1.0
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    database.close()
