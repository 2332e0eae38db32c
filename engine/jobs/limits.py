"""Time limits of jobs: a pure function."""

from state.records.jobs import Job


def limit_passed(job: Job, now: float) -> str | None:
    """Why a running job has to be stopped now; `None` where it may go on."""
    limit_s = job.schedule.time_limit_s
    if job.state != "running" or limit_s is None or job.started_at is None or now - job.started_at <= limit_s:
        return None
    return f"its time limit of {_words(limit_s)} ran out"


def _words(seconds: float) -> str:
    hours, rest = divmod(round(seconds), 3600)
    minutes, left = divmod(rest, 60)
    parts = ((hours, "h"), (minutes, "min"), (left, "s"))
    return " ".join(f"{count} {unit}" for count, unit in parts if count) or "0 s"
