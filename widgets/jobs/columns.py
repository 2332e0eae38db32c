"""Columns of the table of jobs."""

import shlex
import time

from textual.content import Content

from state.records.jobs import ENDED, Job
from state.secret_words import shown_argv
from widgets import figures
from widgets.columns import Column

STATE_STYLES = {
    "queued": "$text-muted", "starting": "$accent", "running": "$success", "stopping": "$warning", "done": "",
    "failed": "$error", "stopped": "$warning", "lost": "$error",
}  # fmt: skip


def state_text(job: Job) -> Content:
    """The state in its colour; a job that ended badly has a sign as well."""
    sign = "! " if job.state in ("failed", "lost") else ""
    return Content.styled(f"{sign}{job.state}", STATE_STYLES[job.state])


def took(job: Job) -> float | None:
    """Seconds since it started, or from start to end."""
    if job.started_at is None:
        return None
    return (job.ended_at if job.ended_at is not None else time.time()) - job.started_at


def wanted_gpus(job: Job) -> int:
    """How many it asks for."""
    return len(job.schedule.gpu_choice) or job.schedule.gpus


def gpu_words(job: Job) -> str:
    """Those that it was given; of one that waits, what it asks for."""
    if job.gpus:
        return " ".join(map(str, job.gpus))
    if job.state != "queued" or not wanted_gpus(job):
        return ""
    choice = ",".join(map(str, job.schedule.gpu_choice))
    return f"only {choice}" if choice else f"any {job.schedule.gpus}"


def try_words(job: Job) -> str:
    """Which try it is; blank for the first of one that is not tried again."""
    if not job.attempt and not job.schedule.retries:
        return ""
    return f"{job.attempt + 1}/{job.schedule.retries + 1}" if job.schedule.retries else str(job.attempt + 1)


JOB_COLUMNS: tuple[Column[Job], ...] = (
    Column("Id", lambda job: str(job.id), 5, "right", sort_key=lambda job: job.id),
    Column("State", state_text, 9, sort_key=lambda job: job.state),
    Column("Name", lambda job: job.name, 16, grows=True, sort_key=lambda job: job.name),
    Column("Kind", lambda job: job.kind, 7, priority=2, sort_key=lambda job: job.kind),
    Column("Time", lambda job: figures.duration(took(job)), 11, "right", sort_key=took),
    Column("GPUs", gpu_words, 8, priority=2, sort_key=lambda job: len(job.gpus) or wanted_gpus(job), if_any=True),
    Column("Try", try_words, 5, "right", priority=3, sort_key=lambda job: job.attempt, if_any=True),
    Column("Started", lambda job: _started(job), 9, priority=3, sort_key=lambda job: job.started_at),
    Column("Why", lambda job: job.reason or "", 20, priority=1, grows=True, if_any=True),
    Column("Command", lambda job: shlex.join(shown_argv(job.argv)), 30, priority=4, grows=True),
)


def is_over(job: Job) -> bool:
    """Whether it has ended."""
    return job.state in ENDED


def _started(job: Job) -> str:
    return time.strftime("%a %H:%M", time.localtime(job.started_at)) if job.started_at else figures.ABSENT
