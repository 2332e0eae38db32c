"""What goes to Ray's Jobs API and what comes from it: pure functions (ray 2.60, dashboard/modules/job/common.py)."""

import math
import shlex
from typing import Any

import msgspec

from engine.jobs.backends.cluster import Phase, Sighting, Submission
from state.outside_text import plain_line
from state.records.jobs import JobState

_PHASES: dict[str, Phase] = {"PENDING": "pending", "RUNNING": "running"}
_NOT_STARTED = {
    "JOB_SUPERVISOR_ACTOR_START_TIMEOUT": "Ray did not start it in time: did it ask for more than the cluster has?",
    "JOB_SUPERVISOR_ACTOR_START_FAILURE": "Ray could not start it",
    "RUNTIME_ENV_SETUP_FAILURE": "Ray could not set up its environment",
    "JOB_ENTRYPOINT_COMMAND_START_ERROR": "Ray could not start its command",
    "JOB_SUPERVISOR_ACTOR_DIED": "Ray's supervisor of it died, with its node perhaps",
    "JOB_SUPERVISOR_ACTOR_UNSCHEDULABLE": "Ray has no node that could run it",
}


class RayJob(msgspec.Struct, frozen=True, kw_only=True):
    """The fields of an answer that are looked at. Times are milliseconds since 1970."""

    status: str
    submission_id: str | None = None
    message: str | None = None
    error_type: str | None = None
    start_time: int | None = None
    end_time: int | None = None
    driver_exit_code: int | None = None
    driver_agent_http_address: str | None = None


def request_of(submission: Submission) -> dict[str, Any]:
    """The body of `POST /api/jobs/`. Ray gives the entrypoint to a shell."""
    job = submission.job
    resources: dict[str, Any] = {}
    if job.schedule.gpus:
        resources["entrypoint_num_gpus"] = job.schedule.gpus
    if job.schedule.memory_bytes:
        resources["entrypoint_memory"] = job.schedule.memory_bytes
    # Read by the supervisor of the job (ray 2.60, dashboard/modules/job/job_supervisor.py).
    grace = {"RAY_JOB_STOP_WAIT_TIME_S": str(max(1, math.ceil(job.grace_s)))}
    return {
        "entrypoint": f"cd {shlex.quote(job.working_dir)} && exec {shlex.join(job.argv)}",
        "submission_id": submission.name,
        "runtime_env": {"env_vars": {**submission.environment, **grace}},
        "metadata": {"job_name": plain_line(job.name, 100), "alula_job": str(job.id)},
        **resources,
    }


def sighting_of(found: RayJob) -> Sighting:
    """What an answer says. A job that waits has a `start_time` too: that of its submission."""
    phase: Phase = _PHASES.get(found.status, "ended")
    code = found.driver_exit_code if phase == "ended" else None
    if found.status == "SUCCEEDED" and code is None:
        code = 0
    return Sighting(
        backend_id=found.submission_id or "",
        phase=phase,
        why=f"waits in Ray: {plain_line(found.message or '', 200)}" if phase == "pending" else found.status,
        where=plain_line((found.driver_agent_http_address or "").removeprefix("http://").rpartition(":")[0], 60),
        # When it was submitted: the closest that Ray tells of a job that ran between two looks.
        started_at=(found.start_time or 0) / 1000 if phase == "ended" and code is not None else None,
        ended_at=(found.end_time or 0) / 1000 if phase == "ended" else None,
        exit_code=code if code is not None and code >= 0 else None,
        exit_signal=-code if code is not None and code < 0 else None,
        cancelled=found.status == "STOPPED",
        verdict=_verdict(found) if found.status == "FAILED" and code is None else None,
    )


def _verdict(found: RayJob) -> tuple[JobState, str]:
    what = _NOT_STARTED.get(found.error_type or "", "Ray gave it up")
    words = " ".join(plain_line(line, 300) for line in (found.message or "").splitlines()[-1:])
    state: JobState = "lost" if found.error_type == "JOB_SUPERVISOR_ACTOR_DIED" else "failed"
    return state, f"{what}: {words}" if words else what
