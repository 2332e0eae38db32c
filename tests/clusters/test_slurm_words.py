"""What goes to Slurm and what comes from it, without one."""

import subprocess
from pathlib import Path

from engine.jobs.backends.slurm_script import batch_script, sbatch_arguments
from engine.jobs.backends.slurm_states import chosen, read_listing
from state.records.jobs import Job, Schedule

NASTY = """it's "a" $HOME `id` \\ \n%j"""


def job_in(folder: Path, *argv: str, schedule: Schedule | None = None, address: str = "slurm") -> Job:
    return Job(
        id=7, name=NASTY, kind="command", argv=argv, working_dir="/", run_folder=str(folder), created_at=0.0,
        backend="slurm", backend_address=address, schedule=schedule or Schedule(),
    )  # fmt: skip


def test_words_reach_the_command_as_they_are_and_the_end_is_written(tmp_path: Path) -> None:
    folder = tmp_path / NASTY
    folder.mkdir()
    script = batch_script(job_in(folder, "printf", "%s|", NASTY, "", "*"))
    done = subprocess.run(["sh", "-s"], input=script, capture_output=True, text=True, timeout=20, check=False)
    assert done.stdout == f"{NASTY}||*|"
    assert '"exit_code":0' in (folder / "exit.json").read_text()
    again = subprocess.run(["sh", "-s"], input=script, capture_output=True, text=True, timeout=20, check=False)
    assert again.returncode == 1
    assert "not run" in again.stdout


def test_options_of_sbatch() -> None:
    schedule = Schedule(gpus=2, memory_bytes=3 << 30, time_limit_s=61.0)
    words = sbatch_arguments(
        "alula-7", job_in(Path("/r/50%"), "x", schedule=schedule, address="slurm://gpu?account=ai")
    )
    assert {"--gres=gpu:2", "--mem=3072M", "--time=2", "--partition=gpu", "--account=ai", "--no-requeue"} <= set(words)
    assert "--output=/r/50%%/log.txt" in words
    assert all("\n" not in word for word in words if word.startswith("--comment"))


def test_lines_of_squeue() -> None:
    listing = read_listing(
        [
            "4|alula-1-a|FAILED|NonZeroExitCode|768|1796277720|1796277723|node1|",
            "5|alula-2-a|FAILED|JobLaunchFailure|4021|1796277720|1796277723|node1|",
            "6|alula-3-a|PENDING|Resources|0|N/A|N/A||",
            "7|alula-4-a|TIMEOUT|TimeLimit|15|1|2|node1|",
            "8|alula-5-a|RUNNING|None|0|1796277720|1827813720|node[1-2]|",
            "9|alula-6-a|CANCELLED|None|0|N/A|1796277723||",
            "nonsense",
        ]
    )
    first = {name: sightings[0] for name, sightings in listing.items()}
    assert (first["alula-1-a"].phase, first["alula-1-a"].exit_code, first["alula-1-a"].verdict) == ("ended", 3, None)
    assert "shared disk" in (first["alula-2-a"].verdict or ("", ""))[1]
    assert (first["alula-3-a"].phase, first["alula-3-a"].why) == (
        "pending", "waits in Slurm for free resources (Resources)",
    )  # fmt: skip
    assert first["alula-4-a"].verdict == ("failed", "Slurm's time limit ran out")
    assert (first["alula-5-a"].phase, first["alula-5-a"].where, first["alula-5-a"].ended_at) == (
        "running", "node[1-2]", None,
    )  # fmt: skip
    assert first["alula-6-a"].cancelled


def test_of_two_submissions_the_one_that_claimed_counts() -> None:
    both = read_listing([f"{number}|alula-1-a|RUNNING|None|0|1|2|n|" for number in (11, 9)])["alula-1-a"]
    picked = [chosen(both, claimed, known) for claimed, known in (("11", "9"), (None, "11"), (None, None))]
    assert [one.backend_id if one else None for one in picked] == ["11", "11", "9"]
    assert chosen([], "1", "2") is None
