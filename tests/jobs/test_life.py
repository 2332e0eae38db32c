"""A job's life with real processes: start, log, end, stop, and the deaths of those who look after it."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from engine.client import CommandRefused
from tests.jobs.conftest import Host, kill, lives, wait_until


def pids_in(path: Path, count: int) -> list[int]:
    """Process numbers that a job wrote, one a line."""
    wait_until(lambda: path.exists() and path.read_text().count("\n") >= count, f"{count} lines in {path}")
    return [int(line) for line in path.read_text().split()]


def test_output_and_exit_code_are_kept(host: Host) -> None:
    job = host.wait_for(host.launch("sh", "-c", "echo out; echo err >&2; exit 3"))
    assert (job.state, job.exit_code, job.reason) == ("failed", 3, "exit code 3")
    assert host.log(job.id) == "out\nerr\n"
    assert job.started_at is not None and job.ended_at is not None


def test_a_job_gets_what_it_was_given_and_nothing_of_ours(host: Host, tmp_path: Path) -> None:
    code = "import json, os, sys; print(json.dumps([sys.argv[1:], os.getcwd(), dict(os.environ)]))"
    awkward = ["a b", "$HOME", "*", "", "ü\n"]
    job_id = host.launch(
        sys.executable, "-c", code, *awkward, working_dir=str(tmp_path), environment={"COLOUR": "blue"}
    )
    assert host.wait_for(job_id).state == "done"
    argv, folder, environment = json.loads(host.log(job_id))
    assert (argv, folder, environment["COLOUR"]) == (awkward, str(tmp_path), "blue")
    assert environment["ALULA_JOB_ID"] == str(job_id)
    assert environment.get("PYTHONPATH") == os.environ.get("PYTHONPATH")


def test_a_program_that_is_not_there(host: Host) -> None:
    job = host.wait_for(host.launch("/no/such/program"))
    assert job.state == "failed" and job.reason is not None and "/no/such/program" in job.reason


def test_stopping_reaches_all_that_a_job_started(host: Host, tmp_path: Path) -> None:
    """Children that ignore SIGTERM, that moved to another session, and that lost their parent."""
    pids = tmp_path / "pids"
    script = f"""
        trap '' TERM
        echo $$ >> {pids}
        setsid sh -c 'trap "" TERM; echo $$ >> {pids}; while :; do sleep 1; done' &
        (setsid sh -c 'echo $$ >> {pids}; sleep 1000' &) &
        env -i setsid sh -c 'echo $$ >> {pids}; sleep 1000' &
        while :; do sleep 1; done
    """
    job_id = host.launch("sh", "-c", script, grace_s=0.5)
    found = pids_in(pids, 4)
    host.client.ask("jobs.stop", {"job_id": job_id}, timeout_s=30)
    job = host.wait_for(job_id)
    assert (job.state, job.exit_signal) == ("stopped", signal.SIGKILL)
    assert not [pid for pid in found if lives(pid)]


def test_what_a_job_leaves_behind_ends_with_it(host: Host, tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    job_id = host.launch(
        "sh", "-c", f"setsid sh -c 'echo $$ >> {pids}; exec sleep 1000' & echo $$ >> {pids}; sleep 0.3"
    )
    found = pids_in(pids, 2)
    assert host.wait_for(job_id).state == "done"
    assert not [pid for pid in found if lives(pid)]


def test_a_queued_stop_and_a_retry(host: Host) -> None:
    job_id = host.launch("sh", "-c", "echo once")
    first = host.wait_for(job_id)
    again = host.client.ask("jobs.retry", {"job_id": job_id})["job_id"]
    second = host.wait_for(again)
    assert (second.state, second.retry_of, second.argv) == ("done", job_id, first.argv)
    assert second.run_folder != first.run_folder
    assert host.client.ask("jobs.stop", {"job_id": again})["state"] == "done"


def test_requests_that_make_no_sense_are_refused(host: Host) -> None:
    running = host.launch("sleep", "100", run_folder=str(host.path / "shared"))
    for kind, arguments, word in [
        ("jobs.launch", {"argv": []}, "empty"),
        ("jobs.launch", {"argv": ["a\0b"]}, "zero byte"),
        ("jobs.launch", {"argv": "true"}, "array"),
        ("jobs.launch", {"argv": ["true"], "working_dir": "/no/such"}, "/no/such"),
        ("jobs.launch", {"argv": ["true"], "run_folder": str(host.path / "shared")}, f"job {running} works"),
        ("jobs.retry", {"job_id": running}, "stop it first"),
        ("jobs.stop", {"job_id": 999}, "no job 999"),
        ("jobs.dance", {}, "unknown command"),
    ]:
        with pytest.raises(CommandRefused) as refused:
            host.client.ask(kind, arguments, timeout_s=30)
        assert word in f"{refused.value} {refused.value.remedy}"
    host.client.ask("jobs.stop", {"job_id": running}, timeout_s=30)
    assert host.wait_for(running).state == "stopped"


def test_a_job_that_ends_while_no_engine_lives_is_recorded(host: Host, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    job_id = host.launch("sh", "-c", f"while [ ! -e {gate} ]; do sleep 0.05; done; exit 5")
    host.wait_for(job_id, "running")
    host.kill_engine()
    gate.touch()
    job = host.wait_for(job_id)
    assert host.client.running_engine() is None
    assert (job.state, job.exit_code) == ("failed", 5)


def test_a_new_engine_takes_up_running_jobs(host: Host) -> None:
    job_id = host.launch("sleep", "1000")
    before = host.wait_for(job_id, "running")
    host.kill_engine()
    host.client.ensure_engine()
    host.client.ask("jobs.stop", {"job_id": job_id}, timeout_s=30)
    after = host.wait_for(job_id)
    assert (after.state, after.pid, after.runner_pid) == ("stopped", before.pid, before.runner_pid)


def test_a_job_outlives_its_runner_and_its_exit_code_is_known(host: Host, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    job_id = host.launch("sh", "-c", f"while [ ! -e {gate} ]; do sleep 0.05; done; echo end; exit 7")
    runner = host.wait_for(job_id, "running").runner_pid
    assert runner is not None
    kill(runner)
    gate.touch()
    job = host.wait_for(job_id)
    assert (job.state, job.exit_code, host.log(job_id)) == ("failed", 7, "end\n")


def test_a_job_whose_runner_was_killed_can_be_stopped(host: Host) -> None:
    job_id = host.launch("sleep", "1000")
    job = host.wait_for(job_id, "running")
    assert job.runner_pid is not None and job.pid is not None
    kill(job.runner_pid)
    host.client.ask("jobs.stop", {"job_id": job_id}, timeout_s=30)
    assert host.wait_for(job_id).state == "stopped"
    assert not lives(job.pid)


def test_a_job_whose_runner_is_stopped_can_be_stopped(host: Host) -> None:
    job_id = host.launch("sleep", "1000")
    job = host.wait_for(job_id, "running")
    assert job.runner_pid is not None and job.pid is not None
    os.kill(job.runner_pid, signal.SIGSTOP)
    host.client.ask("jobs.stop", {"job_id": job_id}, timeout_s=30)
    assert host.wait_for(job_id).state == "stopped"
    assert not lives(job.pid)


def test_engine_and_runner_both_killed(host: Host) -> None:
    """Nobody is left who could know the exit code: that is said, and the job is not run again."""
    job_id = host.launch("sh", "-c", "echo start; sleep 1000")
    job = host.wait_for(job_id, "running")
    assert job.runner_pid is not None and job.pid is not None
    host.kill_engine()
    kill(job.runner_pid)
    host.client.ensure_engine()
    kill(job.pid)
    after = host.wait_for(job_id)
    assert after.state == "lost" and after.reason
    assert host.log(job_id) == "start\n"


def test_a_job_of_before_the_host_restarted_is_lost(host: Host) -> None:
    job_id = host.launch("sleep", "1000")
    job = host.wait_for(job_id, "running")
    assert job.runner_pid is not None and job.pid is not None
    host.kill_engine()
    kill(job.runner_pid)
    kill(job.pid)
    claim = Path(job.run_folder) / "claim.json"
    claim.write_text(json.dumps(json.loads(claim.read_text()) | {"boot_id": "before"}))
    host.client.ensure_engine()
    after = host.wait_for(job_id)
    assert after.state == "lost" and after.reason is not None and "restarted" in after.reason


def test_hanging_up_stops_nothing(tmp_path: Path, host: Host) -> None:
    """SIGHUP to engine, runner and job's first process, as a dropped line may send it."""
    job_id = host.launch("nohup", "sleep", "1000")
    job = host.wait_for(job_id, "running")
    engine = host.client.running_engine()
    assert engine is not None and job.runner_pid is not None and job.pid is not None
    for pid in (engine.pid, job.runner_pid, job.pid):
        os.kill(pid, signal.SIGHUP)
    second = host.launch("true")
    assert host.wait_for(second).state == "done"
    assert host.client.ensure_engine().pid == engine.pid
    assert host.job(job_id).state == "running" and lives(job.pid)
    assert os.getsid(engine.pid) == engine.pid and os.getsid(job.runner_pid) == job.runner_pid
    host.client.ask("jobs.stop", {"job_id": job_id}, timeout_s=30)
    host.wait_for(job_id)


def test_a_runner_started_twice_runs_the_job_once(host: Host, tmp_path: Path) -> None:
    job_id = host.launch("sh", "-c", f"echo start >> {tmp_path}/starts; sleep 0.5")
    job = host.wait_for(job_id, "running")
    for _ in range(3):
        subprocess.run([sys.executable, "-m", "engine.jobs.runner", job.run_folder], check=True)
    assert host.wait_for(job_id).state == "done"
    subprocess.run([sys.executable, "-m", "engine.jobs.runner", job.run_folder], check=True)
    assert (tmp_path / "starts").read_text() == "start\n"
