"""From the Check screen to a server that runs with the fix: choose, ask once, start."""

import shlex
import socket
import sys
from contextlib import closing
from pathlib import Path

import pytest

from console.checking.launching import NotLaunchable, proposal
from engine.check.collect import Collection
from engine.check.report.result import Checked
from engine.client import Client
from engine.reference.checkpoint import shipped_draft
from state.database import open_database
from state.folder import StateFolder
from state.jobs import read_jobs
from state.records.jobs import Job
from tests.check.models import incident_folder
from tests.console.seeded import console
from tests.console.test_console_with_engine import folder, until

__all__ = ["folder"]
NOTHING_YET = Job(name="", kind="", argv=(), working_dir="", run_folder="", created_at=0)


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


def checked(text: str, root: Path) -> Checked:
    (root / "launch.sh").write_text(text)
    collection = Collection()
    collection.add_file(str(root / "launch.sh"))
    (one,) = collection.outcome().checked
    return one


async def test_a_server_is_started_with_the_fix_and_can_be_chosen(folder: StateFolder) -> None:
    port = free_port()
    words = [sys.executable, "-m", "console", "reference", "serve", "--port", str(port)]
    words += ["--speculative-algorithm", "EAGLE", "--speculative-draft-model-path", str(shipped_draft())]
    app = console(folder)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("6")
        app.screen.query_one("#subject").value = shlex.join(words)  # type: ignore[attr-defined]
        await pilot.press("enter")
        await until(pilot, lambda: app.screen.outcome.checked, "the verdict")  # type: ignore[attr-defined]
        await pilot.press("l")
        await until(pilot, lambda: type(app.screen).__name__ == "Confirmation", "the question")
        await pilot.press("y")
        await until(pilot, lambda: _job(folder).ready_at, "a server that is ready")
        job = _job(folder)
        assert job.kind == "serve" and "EAGLE3" in job.argv and "EAGLE" not in job.argv
        await pilot.press("v")
        await until(pilot, lambda: type(app.screen).__name__ == "ServerChoice", "the choice")
        await until(pilot, lambda: app.screen.query_one("OptionList").option_count > 0, "a server in it")  # type: ignore[attr-defined]
        options = app.screen.query_one("OptionList")
        texts = [str(options.get_option_at_index(i).prompt) for i in range(options.option_count)]  # type: ignore[attr-defined]
        at = next(index for index, text in enumerate(texts) if f"port {port}" in text)
        options.highlighted = at  # type: ignore[attr-defined]
        await pilot.press("enter")
        await until(
            pilot, lambda: app.screen.outcome.checked and not app.screen.outcome.checked[0].count("error"), "ok"
        )  # type: ignore[attr-defined]
        Client(folder).ask("jobs.stop", {"job_id": job.id})
        await until(pilot, lambda: _job(folder).state == "stopped", "its end")


def _job(folder: StateFolder) -> Job:
    with closing(open_database(folder.database_path)) as database:
        return next(iter(read_jobs(database)), NOTHING_YET)


RUN = "python3 -m sglang.launch_server --model-path {target} --port 31000 --tp 2 --speculative-algorithm EAGLE "
RUN += "--speculative-draft-model-path {draft}"


def incident(root: Path, prefix: str = "") -> Checked:
    target, draft = incident_folder(root)
    return checked(prefix + RUN.format(target=target, draft=draft) + "\n", root)


def test_it_asks_for_gpus_a_port_and_readiness(tmp_path: Path) -> None:
    job = proposal(incident(tmp_path, "export SGLANG_X=1\nexport HF_TOKEN=hush\n"), 8)
    assert job.argv[-4:-2] == ("--speculative-algorithm", "EAGLE3") or "EAGLE3" in job.argv
    assert job.working_dir == str(tmp_path)
    assert job.environment == {"SGLANG_X": "1"}
    assert job.schedule == {
        "gpus": 2,
        "ports": [31000],
        "ready_url": "http://127.0.0.1:31000/health",
        "secrets": [],
    }
    assert any("HF_TOKEN" in remark for remark in job.remarks) and "hush" not in str(job)


def test_chosen_devices_are_kept(tmp_path: Path) -> None:
    job = proposal(incident(tmp_path, "CUDA_VISIBLE_DEVICES=4,5 "), 8)
    assert job.schedule["gpu_choice"] == [4, 5] and "CUDA_VISIBLE_DEVICES" not in job.environment


def test_without_gpus_none_is_asked_for(tmp_path: Path) -> None:
    assert "gpus" not in proposal(incident(tmp_path), 0).schedule


@pytest.mark.parametrize(
    ("script", "why"),
    [
        ("python3 -m sglang.launch_server --model-path $MODEL", "MODEL"),
        ("docker run lmsysorg/sglang bash -c 'python3 -m sglang.launch_server --model-path /m'", "container"),
    ],
)
def test_what_cannot_be_started_from_here_says_why(script: str, why: str, tmp_path: Path) -> None:
    with pytest.raises(NotLaunchable, match=why):
        proposal(checked(script + "\n", tmp_path), 0)
