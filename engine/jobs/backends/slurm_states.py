"""What Slurm says of jobs, understood: pure functions from lines of squeue to sightings (slurm 22.05, squeue.1)."""

from collections.abc import Iterable

from engine.jobs.backends.cluster import Phase, Sighting
from state.outside_text import plain_line
from state.records.jobs import JobState

_PENDING = frozenset({"PENDING", "CONFIGURING", "REQUEUED", "REQUEUE_HOLD", "REQUEUE_FED", "RESV_DEL_HOLD"})
_RUNNING = frozenset({"RUNNING", "COMPLETING", "SUSPENDED", "STOPPED", "SIGNALING", "STAGE_OUT", "RESIZING"})
_CANCELLED = frozenset({"CANCELLED", "REVOKED"})
_TELLING: dict[str, tuple[JobState, str]] = {
    "TIMEOUT": ("failed", "Slurm's time limit ran out"),
    "DEADLINE": ("failed", "Slurm's deadline passed"),
    "OUT_OF_MEMORY": ("failed", "out of memory: it used more than Slurm gave it"),
    "NODE_FAIL": ("lost", "its node failed"),
    "BOOT_FAIL": ("lost", "its node did not boot"),
    "PREEMPTED": ("lost", "another job of Slurm took its place"),
}
_LAUNCH_FAILURE = 53
"""Signal number that stands for a job which slurmd could not start, for example for want of its log's folder."""
_WAITS = {
    "Resources": "for free resources",
    "Priority": "for jobs of higher priority",
    "JobHeldUser": "held by its owner",
    "JobHeldAdmin": "held by an administrator",
    "ReqNodeNotAvail": "for nodes that are down or reserved",
    "PartitionConfig": "for more than its partition allows",
    "BeginTime": "for its begin time",
}


def read_listing(lines: Iterable[str]) -> dict[str, list[Sighting]]:
    """Sightings by name, from lines of `squeue` as `slurm_script.squeue_arguments` asks for them."""
    found: dict[str, list[Sighting]] = {}
    for line in lines:
        fields = line.strip().split("|")
        if len(fields) >= 8:
            found.setdefault(fields[1], []).append(_sighting(*fields[:8]))
    return found


def chosen(sightings: Iterable[Sighting], claimed_by: str | None, known_id: str | None) -> Sighting | None:
    """Of several of the same name the one that runs: who claimed the run folder, else the known one, else the first."""
    by_id = {sighting.backend_id: sighting for sighting in sightings}
    for wanted in (claimed_by, known_id):
        if wanted in by_id:
            return by_id[wanted]
    return min(by_id.values(), key=lambda one: int(one.backend_id) if one.backend_id.isdigit() else 0, default=None)


def _sighting(
    job_id: str, name: str, state: str, reason: str, status: str, started: str, ended: str, node: str
) -> Sighting:  # fmt: skip
    phase: Phase = "pending" if state in _PENDING else "running" if state in _RUNNING else "ended"
    code, signal = _exit(status)
    return Sighting(
        backend_id=job_id,
        phase=phase,
        why=_why(phase, state, reason),
        where=plain_line(node, 60),
        started_at=_time(started) if phase != "pending" else None,
        ended_at=_time(ended) if phase == "ended" else None,
        exit_code=code if phase == "ended" else None,
        exit_signal=signal if phase == "ended" else None,
        cancelled=state in _CANCELLED,
        verdict=_verdict(state, reason, signal, node) if phase == "ended" else None,
    )


def _why(phase: Phase, state: str, reason: str) -> str:
    if phase == "pending":
        return f"waits in Slurm {_WAITS.get(reason, '')}".rstrip() + (f" ({plain_line(reason, 60)})" if reason else "")
    return f"{state}, {plain_line(reason, 60)}" if reason not in ("", "None") else state


def _verdict(state: str, reason: str, signal: int | None, node: str) -> tuple[JobState, str] | None:
    if state in _TELLING:
        where = f" ({plain_line(node, 60)})" if node and state == "NODE_FAIL" else ""
        return _TELLING[state][0], _TELLING[state][1] + where
    if signal == _LAUNCH_FAILURE or reason == "JobLaunchFailure":
        where = plain_line(node, 60) or "its node"
        return (
            "failed",
            f"Slurm could not start it on {where}: are run folder and working folder there on a shared disk?",
        )
    if state == "FAILED" and reason == "BadConstraints":
        return "failed", "Slurm cannot give what it asks for (BadConstraints)"
    return None


def _exit(status: str) -> tuple[int | None, int | None]:
    """Code and signal, of a status as `wait` gives it."""
    if not status.isdigit():
        return None, None
    code, signal = int(status) >> 8, int(status) & 0x7F
    return (None, signal) if signal else (code, None)


def _time(text: str) -> float | None:
    return float(text) if text.isdigit() else None
