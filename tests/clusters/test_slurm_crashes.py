"""Engines that are killed around a submission: no job runs twice on a real Slurm, none is forgotten."""

import os
import random
import shutil
import time
from pathlib import Path

import pytest

from tests.clusters.slurm_node import SlurmNode
from tests.jobs.conftest import Host, wait_until

pytestmark = [pytest.mark.slurm, pytest.mark.xdist_group("slurm"), pytest.mark.timeout(180)]
JOBS = 6
KILLS = 5
_SLOW_SBATCH = """\
#!/bin/sh
echo begun >> {folder}/sbatch-calls
{before}
{sbatch} "$@"
{after}
"""


@pytest.fixture
def slow_sbatch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> object:
    """An sbatch that waits for a file `go` before or after it submits."""

    def make(place: str) -> Path:
        waits = f"while [ ! -e {tmp_path}/go ]; do sleep 0.1; done"
        folder = tmp_path / "bin"
        folder.mkdir()
        (folder / "sbatch").write_text(
            _SLOW_SBATCH.format(
                folder=tmp_path,
                sbatch=shutil.which("sbatch"),
                before=waits if place == "before" else "",
                after=waits if place == "after" else "",
            )
        )
        (folder / "sbatch").chmod(0o755)
        monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
        return tmp_path / "go"

    return make


@pytest.mark.parametrize("place", ["before", "after"])
def test_killed_between_submission_and_record(
    place: str, slow_sbatch: object, slurm: SlurmNode, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    go = slow_sbatch(place)  # type: ignore[operator]
    host: Host = request.getfixturevalue("slurm_host")  # its engine finds the slow sbatch first
    calls = tmp_path / "sbatch-calls"
    job_id = host.launch("sh", "-c", f"echo x >> {tmp_path}/ran", on="slurm")
    wait_until(calls.exists, "sbatch to be called")
    if place == "after":
        wait_until((tmp_path / "ran").exists, "the job to run")
    host.kill_engine()
    assert host.job(job_id).backend_id is None
    host.client.ensure_engine()
    if place == "before":
        time.sleep(2.0)  # the new engine looks several times, and sees that an sbatch is under way
    assert len(calls.read_text().splitlines()) == 1
    go.touch()
    assert host.wait_for(job_id).state == "done"
    assert len(calls.read_text().splitlines()) == 1
    assert len((tmp_path / "ran").read_text().splitlines()) == 1


def test_random_kills(slurm_host: Host, tmp_path: Path) -> None:
    chance = random.Random(7)
    jobs = []
    for number in range(JOBS):
        jobs.append(
            slurm_host.launch("sh", "-c", f"echo {number} >> {tmp_path}/ran; sleep 1; exit {number}", on="slurm")
        )
        if number < KILLS:
            time.sleep(chance.uniform(0, 1.5))
            slurm_host.kill_engine()
            slurm_host.client.ensure_engine()
    ends = [slurm_host.wait_for(job_id) for job_id in jobs]
    assert [job.exit_code for job in ends] == list(range(JOBS))
    assert sorted((tmp_path / "ran").read_text().split()) == [str(number) for number in range(JOBS)]
