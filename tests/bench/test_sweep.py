"""Sweeps of reference servers through a real engine: launched, checked, measured, stopped, taken up after a kill."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from console.command_line.bench import bench
from engine.bench.cells import cell_path
from engine.bench.records import BenchError
from engine.bench.sweep_file import read_sweep
from engine.reference.checkpoint import shipped_draft
from state.bench import find_bench, latest_bench_progress, read_benches
from state.database import open_database
from state.folder import state_folder
from state.jobs import open_jobs, read_job, read_jobs
from state.records.bench import Bench
from tests.jobs.conftest import Host, host, kill, wait_until  # noqa: F401  # pytest finds the fixture by its name

SWEEP = """
name = "story"
prompts = "prompts.jsonl"
concurrency = [1]
warmup = 1
[sampling]
max_tokens = 24
[server]
command = ["{python}", "-m", "console", "reference", "serve", "--port", "{{port}}"]
[[point]]
name = "baseline"
[[grid]]
name = "eagle3"
draft = {{own = "{draft}"}}
num_steps = {steps}
[[point]]
name = "broken"
arguments = ["--speculative-algorithm", "EAGLE3"]
"""


@pytest.fixture
def sweep(tmp_path: Path) -> Iterator[Path]:
    rows = [{"id": f"p{number}", "prompt": f"def add_{number}(a, b):"} for number in range(3)]
    (tmp_path / "prompts.jsonl").write_text("\n".join(map(json.dumps, rows)))
    path = tmp_path / "story.toml"
    path.write_text(SWEEP.format(python=sys.executable, draft=shipped_draft(), steps="[3]"))
    yield path


def stored(name: str = "story") -> Bench | None:
    with closing(open_database(state_folder().database_path)) as database:
        return find_bench(database, name)


def run(*words: str) -> tuple[int, Any]:
    done = CliRunner().invoke(bench, [*words, "--json"])
    return done.exit_code, json.loads(done.stdout) if done.stdout.strip() else done.stderr


def test_a_sweep_gives_the_table_and_a_failing_point_ends_only_itself(host: Host, sweep: Path) -> None:  # noqa: F811
    code, found = run("sweep", str(sweep), "--wait")
    rows = {row["name"]: row for row in found["rows"]}
    assert code == 1, "one point failed"
    assert rows["baseline"]["is_baseline"] and rows["baseline"]["summary"]["requests"] == 3
    assert rows["eagle3-s3"]["summary"]["accept_length"]["value"] > 1.2
    assert rows["eagle3-s3"]["economics"]["round_cost"]["value"] > 0
    assert rows["eagle3-s3"]["equality"] == {"compared": 3, "equal": 3, "divergences": [], "note": ""}
    assert "draft-path-missing" in found["problems"]["broken"]["message"]
    assert found["provenance"]["eagle3-s3"]["checkpoints"], "checkpoints are named by their hash"
    with closing(open_database(state_folder().database_path)) as database:
        serving = [job for job in read_jobs(database) if job.kind == "serve"]
        assert len(serving) == 2, "a refused one never started"
        assert {job.kind for job in open_jobs(database)} <= {"bench"}, "the worker itself may still be leaving"


def test_a_killed_sweep_goes_on_without_measuring_again(host: Host, sweep: Path) -> None:  # noqa: F811
    sweep.write_text(
        SWEEP.format(python=sys.executable, draft=shipped_draft(), steps="[1, 3]").split('[[point]]\nname = "broken')[0]
    )
    run("sweep", str(sweep))
    bench_row = stored()
    assert bench_row is not None and bench_row.job_id is not None
    folder = Path(bench_row.run_folder)
    first = cell_path(folder, "0-baseline-c1", "end.json")
    wait_until(first.exists, "the baseline to be measured")
    wait_until((folder / "server.json").exists, "the next server to be started")
    measured = first.stat().st_mtime_ns
    with closing(open_database(state_folder().database_path)) as database:
        job = read_job(database, bench_row.job_id)
    assert job is not None and job.pid is not None
    kill(job.pid)
    host.wait_for(bench_row.job_id)
    wait_until(lambda: (now := stored()) is not None and now.state == "failed", "the engine to say that it is dead")
    now = stored()
    assert now is not None and "its worker ended before it was done" in now.message
    code, found = run("resume", "story", "--wait")
    assert code == 0, found
    assert [row["name"] for row in found["rows"]] == ["baseline", "eagle3-s1", "eagle3-s3"]
    assert first.stat().st_mtime_ns == measured
    with closing(open_database(state_folder().database_path)) as database:
        assert not open_jobs(database), "the server of the killed worker is stopped too"


def test_servers_that_run_are_measured_in_the_terminal(host: Host, sweep: Path, tmp_path: Path) -> None:  # noqa: F811
    command = [sys.executable, "-m", "console", "reference", "serve", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as child:
        assert child.stdout is not None
        url = child.stdout.readline().split("listening on ")[-1].strip()
        words = ["run", "--server", url, "--prompts", str(tmp_path / "prompts.jsonl"), "--max-tokens", "8", "--here"]
        done = subprocess.run(
            [sys.executable, "-m", "console", "bench", *words, "--name", "plain", "--json", "--concurrency", "1,2"],
            capture_output=True, text=True, check=False, env=os.environ,
        )  # fmt: skip
        child.terminate()
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)["rows"]
    assert [row["summary"]["load"]["concurrency"] for row in rows] == [1, 2]
    assert all(row["summary"]["completion_tokens"] == 24 for row in rows)
    code, shown = run("show", "plain")
    assert code == 0 and shown["bench"]["state"] == "done"
    assert run("export", "plain", "--output", str(tmp_path / "plain.html"))[0] == 0


def test_a_server_that_is_killed_in_mid_run_leaves_a_true_account(
    host: Host,  # noqa: F811
    sweep: Path,
    tmp_path: Path,
) -> None:
    command = [sys.executable, "-m", "console", "reference", "serve", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as child:
        assert child.stdout is not None
        url = child.stdout.readline().split("listening on ")[-1].strip()
        words = ["run", "--server", url, "--prompts", str(tmp_path / "prompts.jsonl"), "--max-tokens", "8"]
        code, started = run(*words, "--name", "dying", "--requests", "100000", "--concurrency", "2")
        assert code == 0, started
        cell = Path(started["run_folder"]) / "cells" / "0-server-c2.jsonl"
        wait_until(lambda: answered() > 0, "some answers")
        child.kill()
    host.wait_for(started["job_id"])
    code, shown = run("show", "dying")
    assert code == 1 and shown["bench"]["state"] == "done"
    (row,) = shown["comparison"]["rows"]
    lost = row["summary"]
    assert "the server was lost after" in lost["ended_early"]
    assert 0 < lost["requests"] < 100_000 and sum(lost["failures"].values()) >= 5
    assert not row["best"] and "server was lost" in shown["comparison"]["problems"]["server"]["message"]
    assert len(cell.read_text().splitlines()) == lost["requests"]


def answered() -> int:
    """Requests done of the newest benchmark."""
    with closing(open_database(state_folder().database_path)) as database:
        found = read_benches(database)
        progress = latest_bench_progress(database, found[0].id) if found else None
    return progress.requests_done if progress is not None else 0


def test_nobody_answers_there(host: Host, sweep: Path, tmp_path: Path) -> None:  # noqa: F811
    words = ("run", "--server", "http://127.0.0.1:9", "--prompts", str(tmp_path / "prompts.jsonl"), "--wait")
    code, found = run(*words)
    assert code == 1 and "does not answer" in found["problems"]["server"]["message"]


def test_economics_on_the_command_line() -> None:
    words = ["economics", "--baseline", "90", "--speculative", "82.3", "--accept-length", "2.1"]
    done = CliRunner().invoke(bench, words)
    assert done.exit_code == 0
    assert "needs accept length over 2.30; 0.20 short" in done.stdout


def test_a_grid_is_every_combination_and_a_chain_has_one_shape(tmp_path: Path) -> None:
    path = tmp_path / "grid.toml"
    path.write_text("""
name = "grid"
prompts = "prompts.jsonl"
[server]
command = ["serve", "--port", "{port}"]
[[point]]
name = "baseline"
[[grid]]
name = "e"
draft = {a = "/a", b = "/b"}
num_steps = [1, 3]
topk = [1, 4]
draft_tokens = [8, 16]
cuda_graphs = [true, false]
""")
    plan = read_sweep(path)
    names = [point.name for point in plan.points]
    assert len(names) == len(set(names)) == 1 + 2 * 2 * (1 + 2) * 2
    chain = next(point for point in plan.points if point.name == "e-a-s3-k1-nographs")
    assert chain.command[-3:] == ("--speculative-num-draft-tokens", "4", "--disable-cuda-graph")
    assert plan.prompts.path == str(tmp_path / "prompts.jsonl")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("name = ", "is not TOML"),
        ('name = "x"', "prompts"),
        ('name = "x"\nprompts = "p"\ncolour = 1', "colour"),
        ('name = "x"\nprompts = "p"\n[[point]]\nname = "a"', "neither a url nor a command"),
        ('name = "x"\nprompts = "p"\nconcurrency = [1]', "nothing to measure"),
    ],
)
def test_a_file_that_cannot_be_used_says_why(text: str, words: str, tmp_path: Path) -> None:
    path = tmp_path / "bad.toml"
    path.write_text(text)
    with pytest.raises(BenchError, match=words):
        read_sweep(path)
