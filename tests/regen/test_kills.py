"""A worker that is killed again and again loses no answer and stores none twice."""

import asyncio
import random
import sys
from pathlib import Path

import msgspec

from engine.regen.manifest import CONVERSATIONS
from engine.regen.verify import verify_run
from tests.regen.conftest import ScriptedServer, expected, make_run

KILLS = 30


async def test_thirty_kills_at_random_moments(tmp_path: Path, server: ScriptedServer) -> None:
    seed = random.randrange(2**32)
    chance = random.Random(seed)
    server.delay_s = 0.2
    prompts = [f"question {number}" for number in range(3000)]
    folder, _ = make_run(tmp_path, server.url, prompts, concurrency=16)
    log = (tmp_path / "log").open("wb")

    async def start() -> asyncio.subprocess.Process:
        return await asyncio.create_subprocess_exec(
            sys.executable, "-m", "engine.regen.worker", str(folder),
            env={"ALULA_HOME": str(tmp_path / "home"), "PATH": "/usr/bin:/bin"}, stdout=log, stderr=log,
        )  # fmt: skip

    for _ in range(KILLS):
        worker, before = await start(), server.asked.total()
        # Not before it asks: else the moments would all lie in its start.
        while server.asked.total() <= before + chance.randrange(1, 60):
            assert worker.returncode is None, f"ended by itself, seed {seed}: {(tmp_path / 'log').read_text()[-800:]}"
            await asyncio.sleep(0.005)
        await asyncio.sleep(chance.uniform(0, 0.4))
        worker.kill()
        await worker.wait()
    server.delay_s = 0.0
    assert await (await start()).wait() == 0, (tmp_path / "log").read_text()[-800:]
    log.close()

    rows = [msgspec.json.decode(line) for line in (folder / CONVERSATIONS).read_bytes().splitlines()]
    wanted = {f"p{number}": expected([{"role": "user", "content": text}]) for number, text in enumerate(prompts)}
    assert len(rows) == len(wanted)
    assert {row["id"]: row["conversations"][-1]["content"] for row in rows} == wanted, f"seed {seed}"
    assert verify_run(folder, folder / CONVERSATIONS).problems == ()
