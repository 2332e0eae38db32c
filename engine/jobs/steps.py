"""The job's state machine: a pure function from what is known of a job to its next step, which the scheduler takes."""

from typing import Literal

import msgspec

from engine.jobs.admission import Verdict
from engine.jobs.outcome import outcome
from engine.jobs.run_folder import ExitFile
from state.process_identity import ProcessIdentity
from state.records.jobs import Job, JobState

SPAWNS_BEFORE_GIVING_UP = 5


class Facts(msgspec.Struct, frozen=True, kw_only=True):
    """What the run folder and the process table say of a job."""

    boot_id: str
    verdict: Verdict = Verdict()
    """Of the queue, for a job that is queued."""
    folder_exists: bool = True
    end: ExitFile | None = None
    """How it ended, where that is recorded."""
    runner: ProcessIdentity | None = None
    """The runner that took it. Where there is none, it has never been started."""
    runner_lives: bool = False
    runner_told: bool = False
    """That very runner has been told to stop the job."""
    child: ProcessIdentity | None = None
    """What the runner started."""
    processes_live: bool = False
    """Some process of the job lives. Only asked for where the runner is dead and `child` is not known."""
    spawns: int = 0
    """Runners in a row that this engine started for it and that ended without taking it."""
    spawn_pending: bool = False
    """A runner has just been started, or it is too early to start the next one."""


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """What to do now."""

    do: Literal["wait", "hold", "prepare", "spawn", "mark_running", "tell_runner", "end"]
    state: JobState | None = None
    """For `end`: how it ended."""
    reason: str | None = None
    """For `end`, and for `hold`: why it stays in the queue."""
    gpus: tuple[int, ...] = ()
    """For `prepare`: what it is given."""


WAIT, SPAWN = Step(do="wait"), Step(do="spawn")
MARK_RUNNING, TELL_RUNNER = Step(do="mark_running"), Step(do="tell_runner")


def next_step(job: Job, facts: Facts) -> Step:
    """The next step of a job that has not ended."""
    if facts.end is not None:
        return _end(*outcome(facts.end, job.stop_requested_at is not None, job.stop_reason))
    if job.state == "queued":
        return _queued(job, facts.verdict)
    if facts.runner is None:
        return _without_runner(facts)
    if facts.runner.boot_id != facts.boot_id:
        return _end("lost", "the host restarted while it ran")
    if not facts.runner_lives:
        return _after_runner(facts)
    if job.state == "starting" and facts.child is not None:
        return MARK_RUNNING
    if job.stop_requested_at is not None and not facts.runner_told:
        return TELL_RUNNER
    return WAIT


def _queued(job: Job, verdict: Verdict) -> Step:
    if job.stop_requested_at is not None:
        return _end("stopped", "stopped before it started")
    if verdict.never is not None:
        return _end("failed", f"cannot start: {verdict.never}")
    if verdict.waits is not None:
        return Step(do="hold", reason=verdict.waits)
    return Step(do="prepare", gpus=verdict.gpus)


def _without_runner(facts: Facts) -> Step:
    if not facts.folder_exists:
        return _end("lost", "its run folder is gone")
    if facts.spawn_pending:
        return WAIT
    if facts.spawns >= SPAWNS_BEFORE_GIVING_UP:
        return _end("failed", "its runner does not start; see runner.log in its run folder")
    return SPAWN


def _after_runner(facts: Facts) -> Step:
    if facts.spawn_pending:
        return WAIT
    if facts.child is None and not facts.processes_live:
        return _end("lost", "its runner was killed while it started it")
    if not facts.folder_exists or facts.spawns >= SPAWNS_BEFORE_GIVING_UP:
        return _end("lost", "its runner was killed, and no other can look after it")
    return SPAWN


def _end(state: JobState, reason: str | None) -> Step:
    return Step(do="end", state=state, reason=reason)
