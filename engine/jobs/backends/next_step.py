"""The state machine of a job on a cluster: a pure function from what is known to the next step."""

from typing import Literal

import msgspec

from engine.jobs.backends.cluster import Sighting
from engine.jobs.outcome import outcome
from engine.jobs.run_folder import ExitFile
from state.records.jobs import Job, JobState

FORCE_AGAIN_S = 30.0


class ClusterFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What cluster and run folder say of a job."""

    now: float
    sighting: Sighting | None = None
    """`None`: the cluster does not know it."""
    unreachable: str | None = None
    """Why the cluster does not answer; nothing is known then but the files."""
    end: ExitFile | None = None
    """Written by the job itself as its last act, where it shares a disk with the engine."""
    submitted: bool = False
    """The job has been handed over before, by this engine or an earlier one."""
    attempted: bool = False
    """A submission has been begun; whether it got through may not be known."""
    may_submit: bool = True
    """No submission is on its way."""
    told: bool = False
    """Its stop has been asked for."""
    forced_at: float | None = None


class ClusterStep(msgspec.Struct, frozen=True, kw_only=True):
    """What to do now."""

    do: Literal["wait", "hold", "submit", "mark_running", "stop", "force", "end"]
    state: JobState | None = None
    """For `end`."""
    reason: str | None = None
    """For `end`; for `hold`, why it does not run yet."""
    cancelled: bool = False
    """For `end`: somebody ended it on the cluster itself."""


WAIT = ClusterStep(do="wait")


def next_cluster_step(job: Job, facts: ClusterFacts) -> ClusterStep:
    """The next step of a job that was handed to a cluster and has not ended."""
    if facts.end is not None and (facts.sighting is None or facts.sighting.phase == "ended"):
        return _end(job, facts.sighting, facts.end)
    if facts.unreachable is not None:
        if job.stop_requested_at is not None and not (facts.attempted or facts.submitted):
            return _never_submitted()
        return ClusterStep(do="hold", reason=facts.unreachable)
    if facts.sighting is None:
        return _unknown(job, facts)
    if facts.sighting.phase == "ended":
        return _end(job, facts.sighting, None)
    if job.stop_requested_at is not None:
        return _stop(job, facts)
    if facts.sighting.phase == "pending":
        return ClusterStep(do="hold", reason=facts.sighting.why)
    return ClusterStep(do="mark_running") if job.state == "starting" else WAIT


def _unknown(job: Job, facts: ClusterFacts) -> ClusterStep:
    if not facts.may_submit:
        return WAIT
    if facts.submitted:
        if job.stop_requested_at is not None:
            return ClusterStep(do="end", state="stopped", reason=job.stop_reason)
        reason = f"{job.backend} no longer knows it ({job.backend_id or 'no id'}), and it left no record of its end"
        return ClusterStep(do="end", state="lost", reason=reason)
    if job.stop_requested_at is not None:
        return _never_submitted()
    return ClusterStep(do="submit")


def _never_submitted() -> ClusterStep:
    return ClusterStep(do="end", state="stopped", reason="stopped before it was submitted")


def _stop(job: Job, facts: ClusterFacts) -> ClusterStep:
    asked_at = job.stop_requested_at or facts.now
    if not facts.told:
        return ClusterStep(do="stop")
    if facts.now - asked_at < job.grace_s:
        return WAIT
    if facts.forced_at is None or facts.now - facts.forced_at >= FORCE_AGAIN_S:
        return ClusterStep(do="force")
    return WAIT


def _end(job: Job, sighting: Sighting | None, end: ExitFile | None) -> ClusterStep:
    stop_asked = job.stop_requested_at is not None
    if sighting is not None and not stop_asked:
        if sighting.verdict is not None:
            state, reason = sighting.verdict
            return ClusterStep(do="end", state=state, reason=reason)
        if sighting.cancelled:
            return ClusterStep(do="end", state="stopped", reason=f"cancelled on {job.backend}", cancelled=True)
    known = end or exit_of(sighting, stop_asked)
    if known is None:
        words = f"{job.backend} says {sighting.why}" if sighting and sighting.why else "its end is not known"
        return ClusterStep(do="end", state="lost", reason=words)
    was_stopped = job.state == "stopping" or (sighting is not None and sighting.cancelled)
    known = msgspec.structs.replace(known, stopped=was_stopped)
    state, how = outcome(known, stop_asked, job.stop_reason)
    return ClusterStep(do="end", state=state, reason=how)


def exit_of(sighting: Sighting | None, stop_asked: bool = False) -> ExitFile | None:
    """The end as the cluster tells it; `None` where it tells neither code nor signal of a job that nobody stopped."""
    if sighting is None or sighting.ended_at is None:
        return None
    if sighting.exit_code is None and sighting.exit_signal is None and not (stop_asked or sighting.cancelled):
        return None
    return ExitFile(ended_at=sighting.ended_at, exit_code=sighting.exit_code, exit_signal=sighting.exit_signal)
