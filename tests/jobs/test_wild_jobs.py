"""Jobs that flood, that write no line, that will not end, and a disk that is full: bounded, and stopped wholly."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from console.feed.log_window import LogWindow
from engine.client import Client
from engine.jobs import log_rotation
from engine.jobs.log_series import LogMetricsReader
from state.folder import state_folder
from state.process_identity import identify
from tests.jobs.conftest import LIMIT_S, Host, lives, wait_until

MOST_RUNNER_KIB = 48 << 10
"""A runner at rest has about 22 MiB."""
MOST_LOG_BYTES = (log_rotation.KEPT + 2) * log_rotation.LARGEST_BYTES
MOST_PAGE_CHARACTERS = 8 << 20
FLOODS = {
    "a million lines": "seq 1000000",
    "binary": "head -c 8000000 /dev/urandom",
    "one endless line": "head -c 60000000 /dev/zero | tr '\\0' x",
    "a bar drawn again and again": "yes '\r 50%|#  | 1/2 [00:01<00:01, 1.0it/s]' | head -c 30000000 | tr -d '\\n'",
}


def peak_kib(pid: int) -> int:
    """The most memory that a process has had."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))


@pytest.mark.parametrize("flood", FLOODS)
def test_a_flood_costs_the_runner_no_memory_and_its_log_can_be_read(host: Host, tmp_path: Path, flood: str) -> None:
    gate, written = tmp_path / "gate", tmp_path / "written"
    script = f"{FLOODS[flood]}; touch {written}; while [ ! -e {gate} ]; do sleep 0.05; done; exit 4"
    job_id = host.launch("sh", "-c", script)
    wait_until(written.exists, "the flood")
    job = host.job(job_id)
    wait_until(lambda: host.job(job_id).runner_pid, "the runner")
    runner = host.job(job_id).runner_pid
    assert runner is not None and peak_kib(runner) < MOST_RUNNER_KIB
    gate.touch()
    assert host.wait_for(job_id).exit_code == 4
    folder = Path(job.run_folder)
    assert sum(path.stat().st_size for path in folder.glob("log*.txt")) < MOST_LOG_BYTES
    window = LogWindow(folder / "log.txt")
    window.refresh()
    assert 0 < sum(len(row.text) for row in window.page().rows) < MOST_PAGE_CHARACTERS
    window.close()
    reader = LogMetricsReader(folder / "log.txt")
    reader.read()
    assert len(reader.series()) <= 2


def test_what_forks_faster_than_it_is_killed_is_stopped_wholly(host: Host, tmp_path: Path) -> None:
    """Each level ignores SIGTERM, leaves its session, and starts another when one of its own is gone."""
    program = tmp_path / "hydra.py"
    program.write_text(
        "import os, signal, subprocess, sys, time\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "level = int(sys.argv[1])\n"
        "children = []\n"
        "while True:\n"
        "    open(sys.argv[2], 'a').write(f'{os.getpid()}\\n')\n"
        "    children = [child for child in children if child.poll() is None]\n"
        "    while level and len(children) < 2:\n"
        "        children.append(subprocess.Popen([sys.executable, '-S', __file__, str(level - 1), sys.argv[2]],\n"
        "                                         start_new_session=True))\n"
        "    time.sleep(0.2)\n"
    )
    pids = tmp_path / "pids"
    job_id = host.launch(sys.executable, "-S", str(program), "3", str(pids), grace_s=0.3)
    wait_until(lambda: pids.exists() and len(set(pids.read_text().split())) >= 15, "all levels")
    host.client.ask("jobs.stop", {"job_id": job_id}, timeout_s=30)
    assert host.wait_for(job_id).state == "stopped"
    found = {int(pid) for pid in pids.read_text().split()}
    wait_until(lambda: not [pid for pid in found if lives(pid) and is_ours(pid, program)], "all to be gone")


def is_ours(pid: int, program: Path) -> bool:
    """A number may have been given to somebody else meanwhile."""
    try:
        return str(program).encode() in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False


@pytest.fixture
def small_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Host]:
    """An engine whose state lies on a disk of 8 MiB."""
    folder = tmp_path / "small"
    folder.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m,mode=700", "tmpfs", folder], check=False)
    if mounted.returncode:
        pytest.skip("a small disk needs the right to mount one")
    monkeypatch.setenv("ALULA_HOME", str(folder / "home"))
    client = Client(state_folder())
    try:
        client.ensure_engine()
        yield Host(tmp_path)
    finally:
        with suppress(Exception):
            client.ask("engine.stop", {}, timeout_s=LIMIT_S)
        subprocess.run(["umount", "-l", folder], check=False)


def test_a_full_disk_loses_no_job_and_no_end(small_disk: Host, tmp_path: Path) -> None:
    """The job fills it; engine and runner outlive that, and its end is recorded once there is room."""
    go, full, gate = tmp_path / "go", tmp_path / "full", tmp_path / "gate"
    wait = "while [ ! -e {} ]; do sleep 0.05; done"
    script = f"{wait.format(go)}; dd if=/dev/zero bs=64k; touch {full}; {wait.format(gate)}; exit 6"
    job_id = small_disk.launch("sh", "-c", script)
    runner = small_disk.wait_for(job_id, "running").runner_pid
    go.touch()
    wait_until(full.exists, "the disk to be full")
    gate.touch()
    assert runner is not None and identify(runner) is not None
    (Path(small_disk.job(job_id).run_folder) / "log.txt").write_text("")
    job = small_disk.wait_for(job_id)
    assert (job.state, job.exit_code) == ("failed", 6)
    again = small_disk.wait_for(small_disk.launch("true"))
    assert again.state == "done"
