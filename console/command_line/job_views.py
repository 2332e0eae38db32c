"""Jobs as lines of text."""

import shlex
import time

from state.outside_text import plain_line
from state.records.jobs import ENDED, Job, JobEvent
from state.secret_words import shown_argv
from widgets import figures
from widgets.jobs.place import place_words

HEADINGS = ("ID", "NAME", "KIND", "STATE", "TIME", "RESULT")


def row(job: Job, now: float) -> tuple[str, ...]:
    """One line of the list."""
    outside = (plain_line(job.name, 40), plain_line(job.kind, 12))
    return str(job.id), *outside, job.state, figures.duration(ran_s(job, now)), plain_line(job.reason or "", 80)


def lines(job: Job, events: list[JobEvent], now: float) -> list[str]:
    """All that is known of one job."""
    facts = [
        ("job", f"{job.id} {job.name}" + (f", retry of {job.retry_of}" if job.retry_of else "")),
        ("state", job.state + (f": {job.reason}" if job.reason else "")),
        ("ran", figures.duration(ran_s(job, now))),
        ("exit code", "–" if job.exit_code is None else str(job.exit_code)),
        ("command", shlex.join(shown_argv(job.argv))),
        ("directory", job.working_dir),
        ("run folder", job.run_folder),
        ("place", f"{place_words(job)}, grace {figures.duration(job.grace_s)}"),
    ]
    steps = [f"{_clock(event.at)}  {event.state}  {event.message}".rstrip() for event in events]
    return [plain_line(f"{name:<11} {value}", 4000) for name, value in facts] + ["", *map(plain_line, steps)]


def ran_s(job: Job, now: float) -> float | None:
    """Seconds from its start to its end or to now; `None` where it has not started or its end is not known."""
    if job.started_at is None or (job.state in ENDED and job.ended_at is None):
        return None
    # Clocks can be set back between two stored times.
    return max(0.0, (job.ended_at or now) - job.started_at)


def _clock(at: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(at))
