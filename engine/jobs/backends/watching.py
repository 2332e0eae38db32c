"""Takes the jobs of one cluster from their submission to their recorded end, a look at a time."""

import logging
import sqlite3
import time
from collections.abc import Sequence
from pathlib import Path

import msgspec

from engine.context import EngineContext
from engine.jobs.backends.cluster import Cluster, Refused, Sighting, Unreachable
from engine.jobs.backends.environment import submission_of
from engine.jobs.backends.next_step import ClusterFacts, ClusterStep, exit_of, next_cluster_step
from engine.jobs.records import record_end
from engine.jobs.run_folder import ExitFile, RunFolder, read
from state.cluster_jobs import write_backend_id, write_cluster_reason
from state.jobs import add_event, move, request_stop
from state.outside_text import plain_line
from state.records.jobs import Job

QUICK_S = 2.0
"""Between two looks while something is about to happen."""
QUICK_FOR_S = 30.0
"""After a submission, a start or a stop."""
PATIENT_S = {"slurm": 15.0, "ray": 5.0}
"""Between two looks otherwise; what the files of a job tell is noticed within a second all the same."""
SILENCE_S = 60.0
UNREACHABLE_RULE = "cluster-unreachable"
log = logging.getLogger(__name__)


class ClusterWatch:
    """What this engine remembers of one cluster between two looks; all that matters stands in database and files."""

    def __init__(self, context: EngineContext, database: sqlite3.Connection, name: str, cluster: Cluster) -> None:
        self.cluster = cluster
        self._context = context
        self._database = database
        self._name = name
        self._looked_at = float("-inf")
        self._signs: dict[int, object] = {}
        self._told: set[int] = set()
        self._forced: dict[int, float] = {}
        self._silent_since: float | None = None
        self._alerted = False

    async def look(self, jobs: Sequence[Job]) -> None:
        """Ask the cluster, where it is time to, and take each job one step further."""
        signs: dict[int, object] = {job.id: (job.state, job.stop_requested_at, self.cluster.signs(job)) for job in jobs}
        if not self._is_due(jobs, signs):
            return
        self._signs, self._looked_at = signs, time.monotonic()
        self._told &= signs.keys()
        sightings, unreachable = await self._ask(jobs)
        for job in jobs:
            facts = await self._facts(job, sightings.get(job.id), unreachable)
            await self._take(job, facts, next_cluster_step(job, facts))

    async def close(self) -> None:
        """Let go of the cluster; its jobs go on."""
        if self._alerted:
            self._context.clear_alert(UNREACHABLE_RULE, self._name)
        await self.cluster.close()

    def _is_due(self, jobs: Sequence[Job], signs: dict[int, object]) -> bool:
        if signs != self._signs and self._silent_since is None:
            return True
        quick = self._silent_since is None and any(_moves(job, time.time()) for job in jobs)
        wait_s = QUICK_S if quick else PATIENT_S[jobs[0].backend]
        return time.monotonic() - self._looked_at >= wait_s

    async def _ask(self, jobs: Sequence[Job]) -> tuple[dict[int, Sighting], str | None]:
        try:
            sightings = dict(await self.cluster.look(jobs))
        except Unreachable as error:
            self._silent(str(error))
            return {}, str(error)
        self._silent_since = None
        if self._alerted:
            self._alerted = False
            self._context.clear_alert(UNREACHABLE_RULE, self._name)
        return sightings, None

    def _silent(self, why: str) -> None:
        self._silent_since = self._silent_since or time.monotonic()
        if not self._alerted and time.monotonic() - self._silent_since >= SILENCE_S:
            self._alerted = True
            self._context.raise_alert(
                rule=UNREACHABLE_RULE, subject=self._name, severity="warning", cause=plain_line(why, 300),
                title=plain_line(f"{self._name} does not answer"),
                remedy="its jobs may well go on; they are looked after again as soon as it answers",
            )  # fmt: skip

    async def _facts(self, job: Job, sighting: Sighting | None, unreachable: str | None) -> ClusterFacts:
        folder = RunFolder(Path(job.run_folder))
        if sighting is not None and write_backend_id(self._database, job.id, sighting.backend_id):
            add_event(self._database, job.id, time.time(), job.state, f"{job.backend} calls it {sighting.backend_id}")
        return ClusterFacts(
            now=time.time(),
            sighting=sighting,
            unreachable=unreachable,
            end=_shell_end(read(folder.exit, ExitFile)),
            submitted=job.backend_id is not None or self.cluster.has_begun(job),
            attempted=_attempt(job).exists(),
            may_submit=sighting is not None or unreachable is not None or await self.cluster.may_submit(job),
            told=job.id in self._told,
            forced_at=self._forced.get(job.id),
        )

    async def _take(self, job: Job, facts: ClusterFacts, step: ClusterStep) -> None:
        try:
            if step.do == "hold" and step.reason != job.reason:
                write_cluster_reason(self._database, job.id, plain_line(step.reason or "", 300))
            elif step.do == "submit":
                await self._submit(job)
            elif step.do == "mark_running" and facts.sighting is not None:
                self._mark_running(job, facts.sighting)
            elif step.do in ("stop", "force") and facts.sighting is not None:
                await self._stop(job, facts.sighting, force=step.do == "force")
            elif step.do == "end":
                await self._end(job, facts, step)
        except Unreachable as error:
            write_cluster_reason(self._database, job.id, plain_line(str(error), 300))

    async def _submit(self, job: Job) -> None:
        try:
            _note_attempt(job)
            backend_id = await self.cluster.submit(submission_of(job, self._context.folder.secrets_path))
        except (Refused, LookupError) as error:
            record_end(self._database, job, None, "failed", plain_line(str(error.args[0]), 600))
            return
        except OSError as error:
            record_end(self._database, job, None, "failed", f"cannot write {job.run_folder}: {error.strerror}")
            return
        if write_backend_id(self._database, job.id, backend_id):
            add_event(self._database, job.id, time.time(), job.state, f"submitted, {job.backend} calls it {backend_id}")

    def _mark_running(self, job: Job, sighting: Sighting) -> None:
        now = time.time()
        where = f"on {sighting.where}" if sighting.where else ""
        started_at = sighting.started_at or now
        move(self._database, job.id, ["starting"], "running", now, where, started_at=started_at, reason=None)

    async def _stop(self, job: Job, sighting: Sighting, *, force: bool) -> None:
        # Before it is told: a cluster may take the word and not answer in time; its end is a stop all the same.
        move(self._database, job.id, ["starting", "running"], "stopping", time.time())
        await self.cluster.stop(job, sighting.backend_id, force=force)
        if force:
            self._forced[job.id] = time.time()
        self._told.add(job.id)

    async def _end(self, job: Job, facts: ClusterFacts, step: ClusterStep) -> None:
        assert step.state is not None
        await self.cluster.finish_log(job)
        if step.cancelled:
            # As if an operator had stopped it here: nothing is tried again.
            request_stop(self._database, job.id, facts.now)
        started_at = job.started_at or (facts.sighting.started_at if facts.sighting else None)
        end = facts.end or exit_of(facts.sighting, job.state == "stopping")
        record_end(
            self._database, msgspec.structs.replace(job, started_at=started_at), end, step.state, step.reason
        )  # fmt: skip
        self._context.jobs_changed.set()


def _attempt(job: Job) -> Path:
    """A file that is made before the first submission."""
    return Path(job.run_folder) / "submission"


def _note_attempt(job: Job) -> None:
    path = _attempt(job)
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    path.touch(mode=0o600)
    RunFolder(path.parent).log.touch(mode=0o600)  # so that whoever looks finds one, if an empty one


def _moves(job: Job, now: float) -> bool:
    """Whether something is about to happen to a job."""
    last_change = max(job.created_at, job.started_at or 0.0, job.stop_requested_at or 0.0)
    if job.backend_id is None or job.state == "stopping" or now - last_change < QUICK_FOR_S:
        return True
    return RunFolder(Path(job.run_folder)).exit.exists()


def _shell_end(end: ExitFile | None) -> ExitFile | None:
    """An end as a shell tells it: 128 and the signal's number where there was one."""
    if end is None or end.exit_code is None or not 128 < end.exit_code <= 192:
        return end
    return msgspec.structs.replace(end, exit_code=None, exit_signal=end.exit_code - 128)
