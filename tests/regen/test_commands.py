"""`alula regen` as an operator types it: a real engine, real workers, a chat server on loopback."""

import asyncio
import json
import os
import random
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import closing, suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from engine.client import Client
from state.database import open_database
from state.folder import state_folder
from state.jobs import read_job
from state.regenerations import find_regeneration
from tests.conftest import end_processes_of
from tests.limits import LIMIT_S
from tests.regen.conftest import ScriptedServer, expected
from tests.regen.test_faults import answers, hang, until

ROOT = Path(__file__).parents[2]
KILLS = 12


class Shell:
    """Runs `alula` in processes of its own, so that the server of the test can answer meanwhile."""

    def __init__(self, home: Path) -> None:
        self.home = home

    async def __call__(self, *arguments: str, code: int = 0) -> str:
        done = await asyncio.to_thread(self._run, arguments)
        assert done.returncode == code, done
        return done.stderr if code == 2 else done.stdout

    async def json(self, *arguments: str, code: int = 0) -> Any:
        return json.loads(await self(*arguments, "--json", code=code))

    async def state(self, name: str) -> str:
        with closing(open_database(state_folder().database_path)) as database:
            run = find_regeneration(database, name)
        assert run is not None
        return run.state

    async def wait_for(self, name: str, *states: str) -> None:
        async with asyncio.timeout(LIMIT_S):
            while await self.state(name) not in states:  # noqa: ASYNC110  # other processes move it
                await asyncio.sleep(0.05)

    def _run(self, arguments: tuple[str, ...]) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "console", "regen", *arguments],
            cwd=ROOT, env={**os.environ, "ALULA_HOME": str(self.home)}, capture_output=True, text=True,
            timeout=LIMIT_S, check=False,
        )  # fmt: skip


@pytest.fixture
async def alula(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Shell]:
    monkeypatch.setenv("ALULA_HOME", str(tmp_path / "home"))
    yield Shell(tmp_path / "home")
    client = Client(state_folder())
    await asyncio.to_thread(client.ensure_engine)
    await asyncio.to_thread(client.ask, "engine.stop", {}, 30.0)
    end_processes_of(str(tmp_path))


def prompts_file(folder: Path, prompts: list[str]) -> str:
    path = folder / "prompts.jsonl"
    path.write_text("\n".join(json.dumps({"id": text, "prompt": text}) for text in prompts))
    return str(path)


async def test_from_start_to_verify(alula: Shell, tmp_path: Path, server: ScriptedServer) -> None:
    server.always["bad"] = answers(400, b"no")
    source = prompts_file(tmp_path, ["good", "bad", "fine"])
    started = await alula.json("start", source, "--server", server.url, "--name", "trial", "--wait", code=1)
    assert started["name"] == "trial"
    status = await alula.json("status", "trial", code=1)
    assert (status["run"]["state"], status["progress"]["done"]) == ("done", 2)
    assert status["progress"]["failed_by_kind"] == {"refused_by_server": 1}
    assert "alula regen retry trial --kind refused_by_server" in await alula("status", "trial", code=1)
    assert [row["run"]["name"] for row in await alula.json("list")] == ["trial"]

    server.always.clear()
    assert "no such failures" in await alula("retry", "trial", "--kind", "timeout", code=2)
    assert (await alula.json("retry", "trial"))["count"] == 1
    await alula.wait_for("trial", "done")
    output = tmp_path / "train.jsonl"
    manifest = await alula.json("export", "trial", "--output", str(output))
    assert (manifest["answered"], manifest["failed"]) == (3, {})
    assert (tmp_path / "train.manifest.json").exists() and (tmp_path / "train.rejected.jsonl").exists()
    assert answers_in(str(output)) == true_answers(["good", "bad", "fine"])
    assert "complete and true" in await alula("verify", "trial", str(output))
    assert "input of the run" in await alula("export", "trial", "--output", source, code=2)
    output.write_text(output.read_text().replace("answer", "anewer", 1))
    assert "NOT SOUND" in await alula("verify", "trial", str(output), code=1)
    assert server.asked["good"] == 1


async def test_pause_and_resume(alula: Shell, tmp_path: Path, server: ScriptedServer) -> None:
    server.always["slow"] = hang
    source = prompts_file(tmp_path, ["slow", "quick"])
    await alula("start", source, "--server", server.url, "--name", "trial")
    await until(lambda: server.asked["slow"] == 1)
    assert "is at work" in await alula("resume", "trial", code=2)
    assert "pause it first" in await alula("retry", "trial", code=2)
    assert "there is a run trial" in await alula("start", source, "--server", server.url, "--name", "trial", code=2)
    await alula("pause", "trial")
    await alula.wait_for("trial", "paused")
    assert "1 to go" in await alula("status", "trial") or "2 to go" in await alula("status", "trial")
    assert "not running" in await alula("pause", "trial", code=2)
    server.always.clear()
    await resumed(alula)
    await alula.wait_for("trial", "done")
    assert (await alula.json("verify", "trial"))["problems"] == []


async def test_a_worker_that_dies_each_time_is_given_up_with_a_remedy(
    alula: Shell, tmp_path: Path, server: ScriptedServer
) -> None:
    server.always["slow"] = hang
    source = prompts_file(tmp_path, ["slow"])
    await alula("start", source, "--server", server.url, "--name", "trial")
    client = Client(state_folder())
    async with asyncio.timeout(LIMIT_S):
        while await alula.state("trial") == "running":
            kill(victim(client, "worker"))
            await asyncio.sleep(0.05)
    shown = await alula("status", "trial")
    assert "failed" in shown and "alula jobs logs" in shown and "alula regen resume trial" in shown
    server.always.clear()
    await resumed(alula)
    await alula.wait_for("trial", "done")


async def test_a_run_whose_answers_are_damaged_says_so(alula: Shell, tmp_path: Path, server: ScriptedServer) -> None:
    source = prompts_file(tmp_path, ["one"])
    started = await alula.json("start", source, "--server", server.url, "--name", "trial", "--wait")
    spoil_answers(started["run_folder"])
    assert "not a database" in await alula("verify", "trial", code=2)
    assert "not a database" in await alula("export", "trial", code=2)
    await alula("resume", "trial")
    await alula.wait_for("trial", "failed")
    assert "not a database" in await alula("status", "trial")


async def resumed(alula: Shell) -> None:
    """Resume, once the worker that was paused has ended."""
    async with asyncio.timeout(LIMIT_S):
        while (await asyncio.to_thread(alula._run, ("resume", "trial"))).returncode:  # noqa: ASYNC110
            await asyncio.sleep(0.1)


async def test_what_cannot_be_done_says_why_and_what_to_do(
    alula: Shell, tmp_path: Path, server: ScriptedServer
) -> None:
    source = prompts_file(tmp_path, ["one"])
    down = await alula.json("start", source, "--server", "http://127.0.0.1:1", code=2)
    assert "does not answer" in down["error"] and "--server" in down["remedy"]
    assert "serves scripted, not other" in await alula(
        "start", source, "--server", server.url, "--model", "other", code=2
    )
    assert "cannot be used" in await alula("start", source, "--server", server.url, "--name", "a/b", code=2)
    bad = tmp_path / "bad.jsonl"
    bad.write_text('{"text": "x"}\n')
    assert f"{bad}:1: no field messages" in await alula("start", str(bad), "--server", server.url, code=2)
    for command in ("pause", "resume", "retry", "export", "verify"):
        assert "there is no run nothing" in await alula(command, "nothing", code=2), command


async def test_engine_runner_and_worker_killed_at_random_moments(
    alula: Shell, tmp_path: Path, server: ScriptedServer
) -> None:
    seed = random.randrange(2**32)
    chance = random.Random(seed)
    server.delay_s = 0.15
    prompts = [f"question {number}" for number in range(1500)]
    source = prompts_file(tmp_path, prompts)
    await alula("start", source, "--server", server.url, "--name", "trial", "--concurrency", "8")
    client = Client(state_folder())
    killed = 0
    async with asyncio.timeout(LIMIT_S):
        while killed < KILLS:
            await asyncio.to_thread(client.ensure_engine)
            before = server.asked.total()
            await until(partial(asked_more_than, server, before + 8))
            await asyncio.sleep(chance.uniform(0, 0.4))
            killed += kill(victim(client, ("engine", "runner", "worker")[killed % 3]))
    server.delay_s = 0.0
    await asyncio.to_thread(client.ensure_engine)
    await alula.wait_for("trial", "done", "failed", "paused")
    verdict = await alula.json("verify", "trial")
    assert (verdict["rows"], verdict["problems"]) == (1500, []), f"seed {seed}"
    manifest = await alula.json("export", "trial", "--output", str(tmp_path / "end.jsonl"))
    assert answers_in(manifest["file"]) == true_answers(prompts), f"seed {seed}"


def true_answers(prompts: list[str]) -> list[tuple[str, str]]:
    return [(text, expected([{"role": "user", "content": text}])) for text in prompts]


def answers_in(file: str) -> list[tuple[str, str]]:
    rows = [json.loads(line) for line in Path(file).read_text().splitlines()]
    return [(row["id"], row["conversations"][-1]["content"]) for row in rows]


def victim(client: Client, kind: str) -> int | None:
    if kind == "engine":
        running = client.running_engine()
        return running.pid if running else None
    with closing(open_database(client.folder.database_path)) as database:
        run = find_regeneration(database, "trial")
        job = read_job(database, run.job_id) if run and run.job_id else None
    if job is None:
        return None
    return job.runner_pid if kind == "runner" else job.pid


def spoil_answers(run_folder: str) -> None:
    for file in Path(run_folder).glob("answers.sqlite*"):
        file.write_bytes(b"rubbish " * 1000)


def asked_more_than(server: ScriptedServer, count: int) -> bool:
    return server.asked.total() > count


def kill(pid: int | None) -> int:
    with suppress(ProcessLookupError):
        if pid:
            os.kill(pid, signal.SIGKILL)
            return 1
    return 0
