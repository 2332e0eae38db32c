"""`alula gpus`, `servers` and `alerts` as an operator runs them, with the engine they start."""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from engine.client import Client
from engine.watch.recording import read_lines
from state.database import open_database
from state.folder import StateFolder
from state.servers import latest_server_samples, read_servers
from tests.watch.http_servers import RECORDED, RecordedSglang, serving
from tests.watch.test_servers import eventually

Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def alula(fake_library: Path, tmp_path: Path) -> Iterator[Run]:
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    (tmp_path / "script").write_text(f"gpus 2\npcie_ms 1\nreasons 1 64\nprocess 0 {os.getpid()} 4096\n")
    environment = os.environ | {
        "ALULA_HOME": str(home),
        "ALULA_CONFIG_HOME": str(tmp_path / "config"),
        "FAKE_NVML": str(tmp_path / "script"),
        "LD_LIBRARY_PATH": str(fake_library.parent),
    }

    def run(*arguments: str) -> "subprocess.CompletedProcess[str]":
        command = [sys.executable, "-m", "console", *arguments]
        return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)

    yield run
    client = Client(StateFolder(path=home))
    if client.running_engine():
        client.ask("engine.stop", {})


def test_gpus_for_people_and_for_scripts(alula: Run) -> None:
    shown = alula("gpus")
    assert shown.returncode == 0, shown.stderr
    head, _, headings, first, second, _, _, process = shown.stdout.splitlines()
    assert head == "2 GPUs, driver 580.159.04"
    assert headings.split()[:4] == ["GPU", "NAME", "UTIL", "MEMORY"]
    assert "696 W / 700 W" in first and "at the power limit" in first
    assert "hardware slows it down for heat" in second
    assert str(os.getpid()) in process and "4.0 GiB" in process
    value = json.loads(alula("gpus", "--json").stdout)
    assert [sample["power_w"] for sample in value["samples"]] == [696.15, 696.15]
    assert value["status"]["availability"] == "available"


async def test_a_server_is_added_shown_and_removed(alula: Run, tmp_path: Path) -> None:
    async with serving(RecordedSglang("eagle")) as url:

        async def run(*arguments: str) -> "subprocess.CompletedProcess[str]":
            return await asyncio.to_thread(alula, *arguments)

        added = await run("servers", "add", url.removeprefix("http://") + "/v1")
        assert added.stdout == f"{url} is watched\n", added.stderr
        assert "already" in (await run("servers", "add", url)).stdout

        database = open_database(StateFolder(path=tmp_path / "home").database_path)
        await eventually(lambda: [server for server in read_servers(database) if server.health == "up"])
        await eventually(lambda: latest_server_samples(database))
        shown = await run("servers")
        assert "EAGLE" in shown.stdout and "1.00" in shown.stdout
        removed = await run("servers", "remove", url)
        assert removed.returncode == 0
    again = await asyncio.to_thread(alula, "servers", "remove", url)
    assert again.returncode == 2 and "not watched" in again.stderr


def test_no_address_is_refused_with_an_example(alula: Run) -> None:
    refused = alula("servers", "add", "http://", "--json")
    assert refused.returncode == 2
    assert "http://127.0.0.1:30000" in json.loads(refused.stderr)["remedy"]


async def test_alerts_say_what_to_do_and_are_acknowledged(alula: Run, tmp_path: Path) -> None:
    alula("gpus")
    database = open_database(StateFolder(path=tmp_path / "home").database_path)
    await eventually(lambda: database.execute("SELECT 1 FROM alert WHERE subject = 'gpu 1'").fetchone())
    shown = alula("alerts")
    assert shown.returncode == 1
    assert "gpu 1: GPU 1 is throttled" in shown.stdout and "    -> Look at cooling" in shown.stdout
    alert = next(alert for alert in json.loads(alula("alerts", "--json").stdout) if alert["subject"] == "gpu 1")
    assert alula("alerts", "ack", str(alert["id"])).returncode == 0
    assert "acknowledged" in alula("alerts").stdout
    assert alula("alerts", "ack", "999").returncode == 2


async def test_a_recording_of_a_real_h200_is_played_and_recorded_again(alula: Run, tmp_path: Path) -> None:
    """The matrix product loop on one H200, driver 580.159.04, 2026-12-01."""
    home, again = tmp_path / "home", tmp_path / "again.jsonl.gz"
    recording = RECORDED / "h200_matrix_product.jsonl.gz"
    engine = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "console", "engine", "run", "--replay", str(recording),
        env=os.environ | {"ALULA_HOME": str(home)}, stderr=asyncio.subprocess.DEVNULL,
    )  # fmt: skip
    try:
        database = open_database(StateFolder(path=home).database_path)
        await eventually(lambda: database.execute("SELECT 1 FROM gpu_sample").fetchone())
        shown = await asyncio.to_thread(alula, "gpus")
        assert "NVIDIA H200" in shown.stdout and "1.1 GiB" in shown.stdout, shown.stderr
        recorded = await asyncio.to_thread(alula, "engine", "record", str(again), "--seconds", "2")
        assert recorded.returncode == 0, recorded.stderr
    finally:
        engine.terminate()
        await engine.wait()
    (sample,) = next(read_lines(again)).readings.gpu_samples
    assert sample.utilization_percent == 100 and sample.power_limit_w == 700


def test_what_is_no_recording_is_refused_at_once(alula: Run, tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("hello\n")
    refused = alula("engine", "run", "--replay", str(path))
    assert refused.returncode == 2 and "notes.txt, line 1" in refused.stderr
