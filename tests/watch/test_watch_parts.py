"""The watch as the engine runs it: sources, writer and judge together, on a real database."""

import asyncio
from pathlib import Path
from typing import Any

from engine.watch.parts import watch_parts
from engine.watch.readings import Readings
from engine.watch.recording import Line, open_for_writing, write_line
from state.alerts import open_alerts
from state.gpus import gpu_history, latest_samples, read_events, read_gpus, read_processes, read_status
from state.host import latest_host_sample, read_disks
from state.records.gpus import Gpu, GpuProcess, GpuSample, GpuStatus
from state.servers import add_server, latest_server_samples, read_servers
from tests.limits import LIMIT_S
from tests.watch.conftest import RunningParts
from tests.watch.http_servers import RecordedSglang, serving
from tests.watch.test_servers import eventually, given
from tests.watch.test_state import host_sample


def recording(path: Path, *lines: Readings) -> Path:
    with open_for_writing(path) as file:
        for second, readings in enumerate(lines):
            write_line(file, Line(float(second), readings))
    return path


def gpu(at: float, **changes: Any) -> Readings:
    sample = GpuSample(uuid="g", taken_at=at, **changes)
    return Readings(
        gpu_status=GpuStatus(taken_at=at, availability="available", message="1 GPU"),
        gpus=(Gpu(uuid="g", index=0, name="NVIDIA H200", seen_at=at),),
        gpu_samples=(sample,),
        gpu_processes=(GpuProcess(uuid="g", pid=1, taken_at=at),),
        host=host_sample(at),
    )


async def test_a_recording_fills_the_tables_like_a_host(running: RunningParts, tmp_path: Path) -> None:
    path = recording(tmp_path / "r.jsonl.gz", *(gpu(1000.0 + second, power_w=600 + second) for second in range(3)))
    async with running(watch_parts(path)) as database:
        await eventually(lambda: len(gpu_history(database, "g", 0, 1e12, 0)) >= 3)
        status = read_status(database)
        assert status is not None and status.message == "1 GPU"
        assert [found.name for found in read_gpus(database)] == ["NVIDIA H200"]
        assert latest_samples(database)["g"].power_w is not None
        assert read_processes(database)[0].pid == 1
        assert latest_host_sample(database) is not None
        assert open_alerts(database) == []


async def test_a_throttled_gpu_becomes_an_alert(running: RunningParts, tmp_path: Path) -> None:
    path = recording(tmp_path / "r.jsonl", *(gpu(1000.0 + second, throttle_reasons=0x44) for second in range(8)))
    async with running(watch_parts(path)) as database:
        (alert,) = await eventually(lambda: open_alerts(database))
    assert (alert.rule, alert.subject, alert.severity) == ("gpu-throttled", "gpu 0", "warning")
    assert alert.cause and alert.remedy and alert.since > 1_700_000_000


async def test_the_incident_raises_an_alert_unasked(running: RunningParts) -> None:
    async with serving(RecordedSglang("eagle")) as url, running(watch_parts()) as database:
        add_server(database, given(url))
        async with asyncio.timeout(LIMIT_S):
            alert = await eventually(lambda: next((a for a in open_alerts(database) if url in a.subject), None))
        assert alert.title.startswith("accept length 1.00")
        assert alert.severity == "error" and "alula check" in alert.remedy
        (server,) = [server for server in read_servers(database) if server.url == url]
        assert (server.health, server.speculative_algorithm) == ("up", "EAGLE")
        assert latest_server_samples(database)[url].accept_length == 1.0


async def test_this_very_host_is_watched_and_no_gpu_is_no_trouble(running: RunningParts) -> None:
    async with running(watch_parts()) as database:
        assert await eventually(lambda: latest_host_sample(database))
        assert await eventually(lambda: read_disks(database))
        assert await eventually(lambda: read_status(database))
        assert read_events(database) == []


async def test_a_slip_in_the_settings_is_told_and_blinds_nobody(running: RunningParts, tmp_path: Path) -> None:
    (tmp_path / "config").mkdir()
    (tmp_path / "config/settings.toml").write_text("[notify]\nwebhok = 'x'\n")
    async with running(watch_parts()) as database:
        (alert,) = await eventually(lambda: [a for a in open_alerts(database) if a.rule == "settings-unreadable"])
        assert "webhok" in alert.cause
        assert await eventually(lambda: latest_host_sample(database))


async def test_a_recording_that_is_none_is_told_by_the_supervisor(running: RunningParts, tmp_path: Path) -> None:
    async with running(watch_parts(tmp_path / "none.jsonl")) as database:
        (alert,) = await eventually(lambda: open_alerts(database))
    assert alert.subject == "engine part replay" and "none.jsonl" in alert.cause
