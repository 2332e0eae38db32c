"""Recipes as an operator launches them, for real: the stand-in server, a benchmark of it, a regeneration by it."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from engine.client import Client
from engine.regen.manifest import CONVERSATIONS
from state.folder import state_folder
from tests.jobs.conftest import LIMIT_S, Host, wait_until

ROOT = Path(__file__).parents[3]


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Host]:
    """A whole engine: regenerations and benchmarks have parts of their own."""
    monkeypatch.setenv("ALULA_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("ALULA_CONFIG_HOME", str(tmp_path / "config"))
    host = Host(tmp_path)
    host.client.ensure_engine()
    yield host
    with suppress(Exception):
        stop_everything(host.client)


def stop_everything(client: Client) -> None:
    for job_id in (1, 2, 3, 4):
        with suppress(Exception):
            client.ask("jobs.stop", {"job_id": job_id}, timeout_s=LIMIT_S)
    client.ask("engine.stop", {}, timeout_s=LIMIT_S)


def launch(*words: str) -> int:
    command = [sys.executable, "-m", "console", "jobs", "launch", "--json", *words]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    assert done.returncode == 0, done.stderr
    return int(json.loads(done.stdout)["job_id"])


@pytest.mark.timeout(4 * LIMIT_S)
def test_a_server_a_benchmark_of_it_and_a_regeneration_by_it(host: Host, tmp_path: Path) -> None:
    server = launch("reference-server")
    wait_until(lambda: host.job(server).ready_at, "the server to be ready")
    url = f"http://127.0.0.1:{host.job(server).schedule.ports[0]}"
    prompts = tmp_path / "prompts.jsonl"
    prompts.write_text("".join(json.dumps({"id": f"p{number}", "prompt": f"Count {number}."}) + "\n"
                               for number in range(3)))  # fmt: skip
    bench = launch("alula-bench", f"server={url}", "random_words=3,6", "concurrency=2", "requests=2", "max_tokens=8")
    regen = launch("alula-regen", f"inputs={prompts}", f"server={url}", "max_tokens=8", "run_name=three")
    for job_id in (bench, regen):
        job = host.wait_for(job_id)
        assert (job.state, job.exit_code) == ("done", 0), host.log(job_id)
    answers = list(state_folder().runs_path.glob(f"*/{CONVERSATIONS}"))
    assert len(answers) == 1 and len(answers[0].read_text().splitlines()) == 3
    assert host.job(server).state == "running"
