"""The queue with a real engine and real processes."""

import gzip
import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, suppress
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from engine.client import Client, CommandRefused
from engine.jobs.ports import free_port
from state.alerts import open_alerts
from state.database import open_database
from state.folder import state_folder
from state.jobs import read_events, read_jobs
from state.records.jobs import Job
from tests.jobs.conftest import Host, wait_until

RECORDED = Path(__file__).parents[1] / "watch" / "recorded" / "h200_matrix_product.jsonl.gz"


def refusal(host: Host, **more: Any) -> str:
    with pytest.raises(CommandRefused) as refused:
        host.launch("true", **more)
    return str(refused.value)


def database(host: Host) -> sqlite3.Connection:
    return open_database(host.client.folder.database_path)


def newest(host: Host) -> list[Job]:
    with closing(database(host)) as connection:
        return read_jobs(connection)


def events(host: Host, job_id: int) -> list[str]:
    with closing(database(host)) as connection:
        return [event.message for event in read_events(connection, job_id)]


def test_a_paused_queue_starts_nothing_even_after_a_new_engine(host: Host) -> None:
    host.client.ask("jobs.pause", {"by": "somebody"})
    job_id = host.launch("true")
    wait_until(lambda: host.job(job_id).reason == "the queue is paused", "the reason")
    host.kill_engine()
    host.client.ensure_engine()
    host.launch("true")
    wait_until(lambda: all(job.reason for job in newest(host)), "both to wait")
    host.client.ask("jobs.resume", {})
    assert host.wait_for(job_id).state == "done"
    assert host.job(job_id).reason is None


def test_after_and_after_ok(host: Host, tmp_path: Path) -> None:
    order = tmp_path / "order"
    first = host.launch("sh", "-c", f"sleep 0.5; echo first >> {order}; exit 3")
    whatever = host.launch("sh", "-c", f"echo second >> {order}", schedule={"after": [first]})
    good = host.launch("sh", "-c", f"echo never >> {order}", schedule={"after_ok": [first]})
    assert host.job(good).state == "queued"
    assert host.wait_for(whatever).state == "done"
    failed = host.wait_for(good)
    assert (failed.state, failed.reason) == ("failed", f"cannot start: job {first}, which it needs, is failed")
    assert order.read_text().split() == ["first", "second"]
    assert refusal(host, schedule={"after": [99]}) == "there is no job 99 to wait for"


def test_a_time_limit_ends_a_job_and_says_so(host: Host) -> None:
    job = host.wait_for(host.launch("sleep", "1000", schedule={"time_limit_s": 1}))
    assert (job.state, job.reason) == ("failed", "its time limit of 1 s ran out")


def test_a_retry_waits_for_its_time_and_those_who_need_it_wait_too(host: Host, tmp_path: Path) -> None:
    count = tmp_path / "count"
    script = f"echo x >> {count}; test $(wc -l < {count}) -ge 3"
    first = host.launch("sh", "-c", script, schedule={"retries": 5, "retry_wait_s": 0.2})
    needs = host.launch("true", schedule={"after_ok": [first]})
    assert host.wait_for(needs).state == "done"
    tries = [job for job in newest(host) if job.id == first or job.retry_of]
    assert sorted(job.state for job in tries) == ["done", "failed", "failed"]
    assert [job.attempt for job in tries] == [2, 1, 0] and len({job.run_folder for job in tries}) == 3
    assert "try 2 of 6 as job" in events(host, first)[-1]


def test_a_server_that_keeps_dying_is_given_up_with_an_alert(host: Host) -> None:
    host.launch("false", kind="serve", schedule={"restart": "on-failure", "retry_wait_s": 0.05})
    wait_until(lambda: _alert(host, "job-keeps-dying"), "the alert")
    assert len(newest(host)) == 5 and all(job.state == "failed" for job in newest(host))


def _alert(host: Host, rule: str) -> bool:
    with closing(database(host)) as connection:
        return any(alert.rule == rule for alert in open_alerts(connection))


class Ready(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        pass


def test_ready_by_url_and_by_log(host: Host) -> None:
    server = HTTPServer(("127.0.0.1", 0), Ready)
    Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}/health"
    by_url = host.launch("sleep", "1000", schedule={"ready_url": url})
    by_log = host.launch("sh", "-c", "echo no; sleep 0.3; echo The server is fired up; sleep 1000",
                         schedule={"ready_log": "fired up"})  # fmt: skip
    slow = host.launch("sleep", "1000", schedule={"ready_log": "fired up", "ready_within_s": 1.5})
    wait_until(lambda: host.job(by_url).ready_at and host.job(by_log).ready_at, "both to be ready")
    assert events(host, by_log)[-1].startswith("ready after")
    assert host.wait_for(slow).reason == "it was not ready within 2 s" and host.job(slow).state == "failed"
    server.shutdown()


def test_a_port_in_use_holds_a_job_back(host: Host) -> None:
    port = free_port(40000)
    assert port is not None
    first = host.launch("sleep", "1000", schedule={"ports": [port]})
    second = host.launch("true", schedule={"ports": [port]})
    wait_until(lambda: host.job(second).reason == f"waits for port {port}, held by job {first}", "the reason")
    host.client.ask("jobs.stop", {"job_id": first})
    assert host.wait_for(second).state == "done"


def test_secrets_are_given_by_name_and_stored_nowhere(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "there is no secret HF_TOKEN" in refusal(host, schedule={"secrets": ["HF_TOKEN"]})
    assert "looks like a secret" in refusal(host, environment={"MY_API_KEY": "abc"})
    value = "hf_very_secret_value"
    subprocess.run([sys.executable, "-m", "console", "jobs", "secret", "set", "HF_TOKEN"], input=value, text=True,
                   check=True)  # fmt: skip
    job = host.wait_for(host.launch("sh", "-c", 'test -n "$HF_TOKEN" && echo ${#HF_TOKEN}',
                                    schedule={"secrets": ["HF_TOKEN"]}))  # fmt: skip
    assert (job.state, host.log(job.id)) == ("done", f"{len(value)}\n")
    home = host.client.folder.path
    holders = [path for path in home.rglob("*") if path.is_file() and value.encode() in path.read_bytes()]
    assert holders == [home / "secrets" / "HF_TOKEN"]
    assert (home / "secrets").stat().st_mode & 0o077 == 0 and holders[0].stat().st_mode & 0o077 == 0


@pytest.fixture
def gpu_host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Host]:
    """An engine that plays a recording of four H200s; a stranger holds GPU 1."""
    monkeypatch.setenv("ALULA_HOME", str(tmp_path / "home"))
    recording = tmp_path / "four.jsonl"
    lines = gzip.decompress(RECORDED.read_bytes()).decode().splitlines()
    recording.write_text("".join(json.dumps(_four(json.loads(line))) + "\n" for line in lines))
    engine = subprocess.Popen(
        [sys.executable, "-m", "console", "engine", "run", "--replay", str(recording)],
        env=os.environ | {"ALULA_HOME": str(tmp_path / "home")}, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    host = Host(tmp_path)
    host.client = Client(state_folder())
    wait_until(lambda: host.client.running_engine(), "the engine")
    yield host
    with suppress(Exception):
        host.client.ask("engine.stop", {})
    engine.terminate()
    engine.wait()


def _four(line: dict[str, Any]) -> dict[str, Any]:
    readings = line["readings"]
    for name in ("gpus", "gpu_samples", "gpu_health"):
        if name in readings:
            readings[name] = [
                {**row, "uuid": f"GPU-{index}"} | ({"index": index} if name == "gpus" else {})
                for row in readings[name]
                for index in range(4)
            ]
    if readings.get("gpu_processes"):
        readings["gpu_processes"] = [{**readings["gpu_processes"][0], "uuid": "GPU-1"}]
    return line


def test_gpus_are_given_once_and_strangers_respected(gpu_host: Host) -> None:
    show = ("sh", "-c", 'echo "$CUDA_VISIBLE_DEVICES"; sleep 1000')
    first = gpu_host.launch(*show, schedule={"gpus": 2})
    gpu_host.wait_for(first, "running")
    second = gpu_host.launch(*show, schedule={"gpus": 2})
    wait_until(lambda: "held by job" in (gpu_host.job(second).reason or ""), "the reason")
    assert (
        gpu_host.job(second).reason
        == f"waits for 2 free GPUs: 1 free, the others held by job {first}, python3 (pid 1000, user1)"
    )
    assert gpu_host.job(first).gpus == (0, 2)
    wait_until(lambda: gpu_host.log(first), "its output")
    assert gpu_host.log(first) == "0,2\n"
    gpu_host.client.ask("jobs.stop", {"job_id": first})
    gpu_host.wait_for(second, "running")
    assert len(gpu_host.job(second).gpus) == 2 and 1 not in gpu_host.job(second).gpus
    with pytest.raises(CommandRefused, match="asks for 5 GPUs, and there are 4"):
        gpu_host.launch(*show, schedule={"gpus": 5})
