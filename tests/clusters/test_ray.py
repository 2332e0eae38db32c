"""Jobs on a real Ray head: the same states, logs, stop and retries as on this host."""

import asyncio
from contextlib import closing
from pathlib import Path

import pytest

from engine.client import CommandRefused
from engine.jobs.backends.cluster import Submission, cluster_name
from engine.jobs.backends.ray import Ray
from engine.jobs.secrets import write_secret
from state.database import open_database
from tests.clusters.free_ports import free_ports
from tests.clusters.ray_head import RayHead
from tests.jobs.conftest import Host, lives, wait_until

pytestmark = [pytest.mark.ray, pytest.mark.xdist_group("ray"), pytest.mark.timeout(400)]
LINES = 300


def shell(host: Host, ray: RayHead, script: str, **more: object) -> int:
    return host.launch("sh", "-c", script, **({"on": ray.address, "working_dir": str(host.path)} | more))


def test_ends_logs_and_variables(ray_host: Host, ray: RayHead) -> None:
    good = shell(
        ray_host, ray, 'echo "$WORD $ALULA_JOB_ID"; pwd; seq 3', environment={"WORD": "it's", "PATH": "/nowhere"}
    )
    bad = shell(ray_host, ray, "exit 7", schedule={"gpus": 1})
    missing = shell(ray_host, ray, "true", working_dir="/no/such/folder")
    job = ray_host.wait_for(good)
    assert (job.state, job.exit_code, job.reason) == ("done", 0, None)
    assert job.backend_id == cluster_name(job)
    assert job.started_at and job.ended_at
    said = iter(ray_host.log(good).splitlines())
    wanted = [f"it's {good}", str(ray_host.path), "1", "2", "3"]
    assert all(line in said for line in wanted), "in this order; Ray writes lines of its own among them"
    job = ray_host.wait_for(bad)
    assert (job.state, job.exit_code, job.reason) == ("failed", 7, "exit code 7")
    assert ray_host.wait_for(missing).state == "failed"
    assert "/no/such/folder" in ray_host.log(missing)


def test_stop_reaches_all_processes(ray_host: Host, ray: RayHead) -> None:
    polite = shell(ray_host, ray, "trap 'echo bye; exit 0' TERM; echo up; while :; do sleep 0.1; done")
    deaf = shell(
        ray_host, ray, "trap '' TERM; sleep 1000 & echo $! $$ > pids; echo up; sleep 1000; sleep 1000", grace_s=1
    )  # fmt: skip
    for job_id in (polite, deaf):
        ray_host.wait_for(job_id, "running")
        wait_until(lambda job_id=job_id: "up\n" in ray_host.log(job_id), f"job {job_id} to be up")  # type: ignore[misc]
        ray_host.client.ask("jobs.stop", {"job_id": job_id}, timeout_s=60)
    assert ray_host.wait_for(polite).state == "stopped"
    assert ray_host.log(polite).endswith("bye\n")
    assert ray_host.wait_for(deaf).state == "stopped"
    pids = [int(pid) for pid in (ray_host.path / "pids").read_text().split()]
    wait_until(lambda: not any(map(lives, pids)), "its processes to be gone")


def test_an_engine_that_is_killed_loses_no_line_and_runs_nothing_twice(ray_host: Host, ray: RayHead) -> None:
    script = f"echo x >> ran; for i in $(seq {LINES}); do echo line $i; sleep 0.02; done"
    job_id = shell(ray_host, ray, script)
    ray_host.wait_for(job_id, "running")
    log = Path(ray_host.job(job_id).run_folder) / "log.txt"
    wait_until(lambda: log.exists() and "line 5\n" in log.read_text(), "the first lines")
    ray_host.kill_engine()
    with closing(open_database(ray_host.client.folder.database_path)) as database:  # as if it had died a moment before
        database.execute("UPDATE job SET backend_id = NULL, state = 'starting' WHERE id = ?", [job_id])
    with log.open("a") as half:
        half.write("line 6\nli")  # written, but not yet noted
    ray_host.client.ensure_engine()
    assert ray_host.wait_for(job_id).state == "done"
    lines = [line for line in log.read_text().splitlines() if line.startswith("line ")]
    assert lines == [f"line {number}" for number in range(1, LINES + 1)]
    assert (ray_host.path / "ran").read_text() == "x\n"


async def test_a_name_is_taken_once(ray_host: Host, ray: RayHead) -> None:
    job_id = shell(ray_host, ray, "echo x >> ran")
    job = ray_host.wait_for(job_id)
    cluster = Ray(ray.address)
    try:
        assert await cluster.submit(Submission(name=cluster_name(job), job=job, environment={}, secrets={}))
    finally:
        await cluster.close()
    await asyncio.sleep(2.0)
    assert (ray_host.path / "ran").read_text() == "x\n"


def test_what_cannot_be(ray_host: Host, ray: RayHead) -> None:
    port = free_ports(1)[0]
    away = ray_host.launch("true", on=f"ray://127.0.0.1:{port}")
    wait_until(lambda: "Ray does not answer at" in (ray_host.job(away).reason or ""), "the reason")
    ray_host.client.ask("jobs.stop", {"job_id": away}, timeout_s=60)
    assert ray_host.wait_for(away).state == "stopped"
    write_secret(ray_host.client.folder.secrets_path, "HF_TOKEN", "hf-1")
    with pytest.raises(CommandRefused, match="dashboard"):
        ray_host.launch("true", on=ray.address, schedule={"secrets": ["HF_TOKEN"]})
    waits = shell(ray_host, ray, "true", schedule={"gpus": 8})
    wait_until(lambda: "waits in Ray" in (ray_host.job(waits).reason or ""), "the reason")


def test_a_wrong_token_is_named(ray_host: Host, ray: RayHead, monkeypatch: pytest.MonkeyPatch) -> None:
    ray_host.client.ask("engine.stop", {}, timeout_s=60)
    monkeypatch.setenv("RAY_AUTH_TOKEN", "0" * 64)
    ray_host.client.ensure_engine()
    job_id = shell(ray_host, ray, "true")
    wait_until(lambda: "RAY_AUTH_TOKEN" in (ray_host.job(job_id).reason or ""), "the reason")


def test_a_log_that_is_no_text(ray_host: Host, ray: RayHead) -> None:
    job_id = shell(ray_host, ray, "echo first; sleep 1; printf '\\377\\376 no text\\n'; sleep 1; echo last; exit 3")
    job = ray_host.wait_for(job_id)
    assert (job.state, job.exit_code) == ("failed", 3)
    assert "bytes in it are no UTF-8" in ray_host.log(job_id)
