"""Slurm, by its own commands: sbatch, squeue, scancel."""

import fcntl
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from engine.jobs.backends.cluster import Refused, Sighting, Submission, Unreachable, cluster_name
from engine.jobs.backends.commands import Said, run_command
from engine.jobs.backends.slurm_script import CLAIM, batch_script, sbatch_arguments, squeue_arguments
from engine.jobs.backends.slurm_states import chosen, read_listing
from state.records.jobs import Job

_NOT_NOW = (
    "unable to contact slurm controller", "socket timed out", "connection refused", "connection timed out",
    "temporarily", "zero bytes were transmitted", "communication connection failure", "munge", "invalid authentication",
    "protocol authentication", "unable to establish configuration source", "unspecified error", "too many open files",
)  # fmt: skip
"""Complaints of sbatch that do not speak of the job."""


class Slurm:
    """All jobs of one account on the cluster that this host's Slurm commands speak to."""

    def signs(self, job: Job) -> object:
        """Whether it has begun and whether it has ended, by the files it writes."""
        folder = Path(job.run_folder)
        return (folder / CLAIM).exists(), (folder / "exit.json").exists()

    def has_begun(self, job: Job) -> bool:
        """Whether it has claimed the run folder."""
        return (Path(job.run_folder) / CLAIM).exists()

    async def look(self, jobs: Sequence[Job]) -> Mapping[int, Sighting]:
        """One squeue for all of them."""
        names = {cluster_name(job): job for job in jobs}
        said = await run_command(squeue_arguments(list(names)), environment={"SLURM_TIME_FORMAT": "%s"})
        if said.code != 0:
            raise Unreachable(f"Slurm does not answer: {said.complaint or f'squeue ended with {said.code}'}")
        listing = read_listing(said.output.splitlines())
        found = {}
        for name, job in names.items():
            sighting = chosen(listing.get(name, ()), claimed_by(job), job.backend_id)
            if sighting is not None:
                found[job.id] = sighting
        return found

    async def may_submit(self, job: Job) -> bool:
        """Whether the sbatch that an earlier engine started has ended: it holds the lock as long as it lives."""
        lock = _take_lock(job)
        if lock is not None:
            os.close(lock)
        return lock is not None

    async def submit(self, submission: Submission) -> str:
        """Write the batch script into the run folder, and have sbatch take it."""
        job, lock = submission.job, None
        try:
            _write_script(job)
            if (lock := _take_lock(job)) is None:
                raise Unreachable("an earlier sbatch is still on its way")
            said = await run_command(
                sbatch_arguments(submission.name, job), held=lock,
                environment={**submission.environment, **submission.secrets},
            )  # fmt: skip
        except OSError as error:
            raise Refused(f"cannot write {job.run_folder}: {error.strerror}") from error
        finally:
            if lock is not None:
                os.close(lock)
        return _submitted_id(said)

    async def stop(self, job: Job, backend_id: str, *, force: bool) -> None:
        """SIGTERM to all of a job's processes, or an end that Slurm itself sees to."""
        if not force:
            # --full: to the processes of the batch script too. A job that waits knows no signals.
            said = await run_command(["scancel", "--signal=TERM", "--full", "--state=RUNNING", backend_id])
            waiting = await run_command(["scancel", "--state=PENDING", backend_id])
            said = said if said.code else waiting
        else:
            said = await run_command(["scancel", "--signal=KILL", "--full", "--state=RUNNING", backend_id])
            ended = await run_command(["scancel", backend_id])
            said = said if said.code else ended
        if said.code != 0:
            raise Unreachable(f"scancel {backend_id}: {said.complaint}")

    async def finish_log(self, job: Job) -> None:
        """Slurm writes into the run folder itself."""

    async def close(self) -> None:
        """Nothing is held."""


def _write_script(job: Job) -> None:
    Path(job.run_folder).mkdir(mode=0o700, parents=True, exist_ok=True)
    (Path(job.run_folder) / "batch.sh").write_text(batch_script(job))


def claimed_by(job: Job) -> str | None:
    """The id of the Slurm job that runs, or ran, for a job."""
    try:
        return (Path(job.run_folder) / CLAIM / "id").read_text().strip() or None
    except OSError:
        return None


def _take_lock(job: Job) -> int | None:
    """The right to submit, for as long as the descriptor is open here or in sbatch; `None` where another has it."""
    Path(job.run_folder).mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor = os.open(Path(job.run_folder) / "submit.lock", os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return None
    except OSError:
        pass  # a shared disk without locks: the claim in the batch script still keeps a job from running twice
    return descriptor


def _submitted_id(said: Said) -> str:
    backend_id = said.output.strip().partition(";")[0]
    if said.code == 0 and backend_id.isdigit():
        return backend_id
    complaint = said.complaint or f"sbatch ended with {said.code}"
    if any(words in complaint.lower() for words in _NOT_NOW):
        raise Unreachable(f"Slurm does not answer: {complaint}")
    raise Refused(f"Slurm refused it: {complaint}")
