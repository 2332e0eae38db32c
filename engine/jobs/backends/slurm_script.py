"""What is handed to sbatch: the batch script and its options. Pure functions.

The script runs under `/bin/sh` on the node. It claims the run folder before anything else, so that a job which was
submitted twice runs once, and writes how the command ended, since Slurm forgets a job soon after its end (`MinJobAge`).
"""

import math
import shlex
from collections.abc import Sequence
from pathlib import Path

from engine.jobs.backends.target import slurm_options
from state.records.jobs import Job

CLAIM = "claimed"
"""Folder that the job makes as its first act; whoever finds it there already does not run. Its file `id` says who."""
_SCRIPT = """\
#!/bin/sh
# Alula job {job_id}. Its command is the line behind `trap`.
umask 077
folder={folder}
if ! mkdir "$folder/{claim}"; then
    echo "[alula: not run: $folder cannot be written from $(hostname), or the job has run already]"
    exit 1
fi
echo "$SLURM_JOB_ID" > "$folder/{claim}/id"
trap 'stopped=1' TERM
{command} < /dev/null
code=$?
printf '{{"ended_at":%s,"exit_code":%s}}' "$(date +%s)" "$code" > "$folder/exit.part" &&
    mv "$folder/exit.part" "$folder/exit.json"
exit $code
"""


def batch_script(job: Job) -> str:
    """The script of one job. It holds neither variables nor secrets: those go by sbatch's environment."""
    return _SCRIPT.format(
        job_id=job.id, folder=shlex.quote(job.run_folder), claim=CLAIM, command=shlex.join(job.argv)
    )  # fmt: skip


def sbatch_arguments(name: str, job: Job) -> list[str]:
    """The command that submits `batch.sh` of the run folder; it prints the id and a line feed."""
    schedule = job.schedule
    options = {
        "job-name": name,
        "comment": f"alula {job.id} {_plain(job.name)}",
        "chdir": job.working_dir,
        "output": str(Path(job.run_folder) / "log.txt").replace("%", "%%"),
        "open-mode": "append",
        "export": "ALL",
    }
    if schedule.time_limit_s is not None:
        options["time"] = str(max(1, math.ceil(schedule.time_limit_s / 60)))
    if schedule.memory_bytes:
        options["mem"] = f"{math.ceil(schedule.memory_bytes / 2**20)}M"
    if schedule.gpus:
        options["gres"] = f"gpu:{schedule.gpus}"
    options |= slurm_options(job.backend_address)
    words = [f"--{key}={value}" if value else f"--{key}" for key, value in options.items()]
    return ["sbatch", "--parsable", "--no-requeue", *words, str(Path(job.run_folder) / "batch.sh")]


def squeue_arguments(names: Sequence[str]) -> list[str]:
    """The command that lists these jobs, one a line, those of the last minutes that have ended among them.

    As text: before Slurm 23.02 `--json` knows no filter, and gives 6 kB for each job of everybody.
    """
    fields = ("JobID", "Name", "State", "Reason", "exit_code", "StartTime", "EndTime", "NodeList")
    columns = ",".join(f"{field}:|" for field in fields)
    return ["squeue", "--me", "--states=all", "--noheader", f"--name={','.join(names)}", f"--Format={columns}"]


def _plain(text: str) -> str:
    return "".join(letter if letter.isascii() and letter.isprintable() else "_" for letter in text)[:60]
