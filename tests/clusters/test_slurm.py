"""Jobs on a real Slurm: the same states, logs, stop and retries as on this host."""

import json
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from engine.client import CommandRefused
from engine.jobs.secrets import write_secret
from state.database import open_database
from state.jobs import read_events, read_jobs
from tests.clusters.slurm_node import CPUS, SlurmNode
from tests.jobs.conftest import Host, lives, wait_until

pytestmark = [pytest.mark.slurm, pytest.mark.xdist_group("slurm"), pytest.mark.timeout(180)]
SECRET = "hf-0123456789-not-to-be-found"


def shell(host: Host, script: str, **more: object) -> int:
    return host.launch("sh", "-c", script, **({"on": "slurm", "working_dir": str(host.path)} | more))


def times_run(host: Host) -> int:
    return len((host.path / "ran").read_text().splitlines())


def test_ends_logs_variables_and_secrets(slurm_host: Host) -> None:
    folder = slurm_host.client.folder
    write_secret(folder.secrets_path, "HF_TOKEN", SECRET)
    good = shell(
        slurm_host, 'echo "$WORD $ALULA_JOB_ID ${#HF_TOKEN}"; pwd', environment={"WORD": "it's"},
        schedule={"secrets": ["HF_TOKEN"], "gpus": 1},
    )  # fmt: skip
    bad = shell(slurm_host, "exit 7")
    killed = shell(slurm_host, "kill -9 $$")
    job = slurm_host.wait_for(good)
    assert (job.state, job.exit_code, job.reason) == ("done", 0, None)
    assert job.backend_id and job.started_at and job.ended_at
    assert slurm_host.log(good) == f"it's {good} {len(SECRET)}\n{slurm_host.path}\n"
    job = slurm_host.wait_for(bad)
    assert (job.state, job.exit_code, job.reason) == ("failed", 7, "exit code 7")
    job = slurm_host.wait_for(killed)
    assert (job.state, job.reason) == ("failed", "ended by SIGKILL")
    holding = [path for path in folder.path.rglob("*") if path.is_file() and SECRET.encode() in path.read_bytes()]
    assert holding == [folder.secrets_path / "HF_TOKEN"]


def test_stop_reaches_all_processes(slurm_host: Host) -> None:
    polite = shell(slurm_host, "trap 'echo bye; exit 0' TERM; echo up; while :; do sleep 0.1; done")
    deaf = shell(slurm_host, "trap '' TERM; sleep 1000 & echo $! $$ > pids; echo up; sleep 1000; sleep 1000", grace_s=1)
    for job_id in (polite, deaf):
        slurm_host.wait_for(job_id, "running")
        wait_until(lambda job_id=job_id: "up" in slurm_host.log(job_id), f"job {job_id} to be up")  # type: ignore[misc]
        slurm_host.client.ask("jobs.stop", {"job_id": job_id}, timeout_s=60)
    assert slurm_host.wait_for(polite).state == "stopped"
    assert slurm_host.log(polite).endswith("bye\n")
    job = slurm_host.wait_for(deaf)
    assert (job.state, job.reason) == ("stopped", "ended by SIGKILL")
    pids = [int(pid) for pid in (slurm_host.path / "pids").read_text().split()]
    wait_until(lambda: not any(map(lives, pids)), "its processes to be gone")


def test_a_job_that_waits_says_why_and_can_be_withdrawn(slurm_host: Host) -> None:
    everything = f"slurm://main?cpus-per-task={CPUS}"
    first = shell(slurm_host, "sleep 1000", on=everything)
    slurm_host.wait_for(first, "running")
    second = shell(slurm_host, "echo never > ran", on=everything)
    wait_until(lambda: "free resources" in (slurm_host.job(second).reason or ""), "the reason")
    assert slurm_host.job(second).state == "starting"
    slurm_host.client.ask("jobs.stop", {"job_id": second}, timeout_s=60)
    assert slurm_host.wait_for(second).state == "stopped"
    slurm_host.client.ask("jobs.stop", {"job_id": first}, timeout_s=60)
    assert slurm_host.wait_for(first).state == "stopped"
    assert not (slurm_host.path / "ran").exists()


def test_refusals_come_in_slurms_words(slurm_host: Host) -> None:
    nowhere = shell(slurm_host, "true", on="slurm://nowhere")
    many = shell(slurm_host, "true", schedule={"gpus": 64})
    assert "invalid partition" in (slurm_host.wait_for(nowhere).reason or "")
    job = slurm_host.wait_for(many)
    assert job.state == "failed"
    assert "Slurm" in (job.reason or "")
    for arguments, words in (
        ({"on": "slurm://main?wrap=x"}, "wrap"),
        ({"on": "condor"}, "condor"),
        ({"on": "slurm", "schedule": {"gpu_choice": [0]}}, "this host"),
    ):
        with pytest.raises(CommandRefused, match=words):
            slurm_host.launch("true", **arguments)


def test_limits_retries_and_what_others_do(slurm_host: Host, slurm: SlurmNode) -> None:
    limited = shell(slurm_host, "sleep 1000", schedule={"time_limit_s": 1.0})
    tried = shell(
        slurm_host, "echo x >> ran; test $(wc -l < ran) -ge 2", schedule={"retries": 2, "retry_wait_s": 0.1}
    )  # fmt: skip
    foreign = shell(slurm_host, "sleep 1000", schedule={"retries": 2})
    slurm_host.wait_for(foreign, "running")
    slurm.ask("scancel", slurm_host.job(foreign).backend_id or "")
    job = slurm_host.wait_for(foreign)
    assert (job.state, job.reason) == ("stopped", "cancelled on slurm")
    job = slurm_host.wait_for(limited)
    assert (job.state, job.reason) == ("failed", "its time limit of 1 s ran out")
    assert slurm_host.wait_for(tried).state == "failed"

    def second_try() -> bool:
        with closing(open_database(slurm_host.client.folder.database_path)) as database:
            again = [job for job in read_jobs(database) if job.retry_of == tried]
        return bool(again) and again[0].state == "done" and again[0].backend == "slurm"

    wait_until(second_try, "the second try")
    assert times_run(slurm_host) == 2


def test_an_end_that_slurm_has_forgotten_is_known(slurm_host: Host, slurm: SlurmNode) -> None:
    job_id = shell(slurm_host, "sleep 2; exit 5")
    job = slurm_host.wait_for(job_id, "running")
    slurm_host.kill_engine()
    wait_until(lambda: job.backend_id not in slurm.ask("squeue", "--states=all", "--format=%i").split(), "forgetting")
    slurm_host.client.ensure_engine()
    job = slurm_host.wait_for(job_id)
    assert (job.state, job.exit_code) == ("failed", 5)


def test_a_controller_that_is_away(slurm_host: Host, slurm: SlurmNode) -> None:
    runs = shell(slurm_host, "sleep 3; echo end")
    slurm_host.wait_for(runs, "running")
    slurm.stop_controller()
    try:
        waits = shell(slurm_host, "echo x >> ran")
        wait_until(lambda: "Slurm does not answer" in (slurm_host.job(waits).reason or ""), "the reason")
    finally:
        slurm.start_controller()
    assert slurm_host.wait_for(waits).state == "done"
    assert slurm_host.wait_for(runs).state == "done"
    assert times_run(slurm_host) == 1


def test_what_is_submitted_twice_runs_once(slurm_host: Host, slurm: SlurmNode) -> None:
    job_id = shell(slurm_host, "echo x >> ran; sleep 1")
    slurm_host.wait_for(job_id, "running")
    script = str(Path(slurm_host.job(job_id).run_folder) / "batch.sh")
    slurm.ask("sbatch", "--wait", f"--output={slurm_host.path}/second.txt", script)
    assert "not run" in (slurm_host.path / "second.txt").read_text()
    assert slurm_host.wait_for(job_id).state == "done"
    assert times_run(slurm_host) == 1


def test_by_the_command_line(slurm_host: Host) -> None:
    words = ["jobs", "launch", "--json", "--on", "slurm", "--gpus", "1", "--", "sh", "-c", "echo $CUDA_VISIBLE_DEVICES"]
    done = subprocess.run(
        [sys.executable, "-m", "console", *words], capture_output=True, text=True, timeout=60, check=True
    )  # fmt: skip
    job_id = json.loads(done.stdout)["job_id"]
    assert slurm_host.wait_for(job_id).state == "done"
    assert slurm_host.log(job_id).strip() in ("0", "1")
    with closing(open_database(slurm_host.client.folder.database_path)) as database:
        events = read_events(database, job_id)
    assert any("slurm calls it" in event.message for event in events)
