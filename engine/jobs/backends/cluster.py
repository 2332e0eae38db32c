"""The seam between a job of Alula and a cluster's own engine: what is asked, and what is answered."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal, Protocol

import msgspec

from state.records.jobs import Job, JobState

Phase = Literal["pending", "running", "ended"]


class Sighting(msgspec.Struct, frozen=True, kw_only=True):
    """What a cluster says of one job."""

    backend_id: str
    phase: Phase
    why: str = ""
    """Why it waits, or how it ended, in the cluster's own words."""
    where: str = ""
    """The node it runs on."""
    started_at: float | None = None
    ended_at: float | None = None
    exit_code: int | None = None
    exit_signal: int | None = None
    cancelled: bool = False
    """Somebody stopped it."""
    verdict: tuple[JobState, str] | None = None
    """State and reason of an end that its exit code does not tell: out of time, out of memory, its node failed."""


class Submission(msgspec.Struct, frozen=True, kw_only=True):
    """What a cluster is given to run."""

    name: str
    """Of the job there: made from Alula's, so that a restarted engine finds what it submitted."""
    job: Job
    environment: dict[str, str]
    """Without secrets."""
    secrets: dict[str, str]


class Unreachable(Exception):
    """The cluster does not answer. It may be asked again later; whether it did what was asked is not known."""


class Refused(Exception):
    """The cluster will not run this job, and asking again would change nothing."""


class Cluster(Protocol):
    """One cluster. All methods raise `Unreachable`."""

    def signs(self, job: Job) -> object:
        """Something cheap to read that differs once the job has moved on; the cluster is then asked at once."""

    def has_begun(self, job: Job) -> bool:
        """Whether the run folder shows that it has begun to run."""

    async def look(self, jobs: Sequence[Job]) -> Mapping[int, Sighting]:
        """What it knows of these jobs, by Alula's id, in one question; those that it does not know are left out."""

    async def may_submit(self, job: Job) -> bool:
        """Whether no earlier submission of the same job is still on its way."""

    async def submit(self, submission: Submission) -> str:
        """Hand a job over; gives its id there. Raises `Refused`."""

    async def stop(self, job: Job, backend_id: str, *, force: bool) -> None:
        """SIGTERM to all processes of a job; with `force` no more grace. A job that waits is withdrawn."""

    async def finish_log(self, job: Job) -> None:
        """Wait, within a limit, until the run folder holds all of the log of a job that has ended."""

    async def close(self) -> None:
        """Let go of what is held; jobs go on."""


def cluster_name(job: Job) -> str:
    """A job's name on a cluster: unique there, since a run folder's name ends with random digits."""
    return f"alula-{job.id}-{Path(job.run_folder).name[-8:]}"
