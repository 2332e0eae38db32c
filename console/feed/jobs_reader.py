"""Reads the jobs for the screens: the newest at once, all others right after, then only what has changed."""

import sqlite3

from state import jobs
from state.records.jobs import Job

FIRST = 200
"""As many as a screen has room for; thousands take a tenth of a second."""
SHOWN = 6000


class JobsReader:
    """Keeps what it has read. For one connection.

    A job never changes without a new event, except when a stop is asked for or a runner makes itself known; both
    happen to open jobs, which are few and are always read.
    """

    def __init__(self) -> None:
        self.unfinished = True
        """Whether the next call gives older jobs as well."""
        self._looked = False
        self._mark: tuple[int, ...] = ()
        self._by_id: dict[int, Job] = {}
        self._known: tuple[Job, ...] = ()

    def __call__(self, database: sqlite3.Connection) -> tuple[Job, ...]:
        """The newest jobs and all open ones, newest first."""
        mark = tuple(number or 0 for number in database.execute(
            "SELECT (SELECT min(id) FROM job), (SELECT max(id) FROM job), (SELECT max(id) FROM job_event)"
        ).fetchone())  # fmt: skip
        if not self._looked:
            self._looked = True
            self._take(jobs.read_jobs(database, FIRST), whole=True)
        elif self.unfinished or mark[0] != self._mark[0] or mark[1] < self._mark[1]:
            self.unfinished = False
            self._take(jobs.read_jobs(database, SHOWN), whole=True)
        elif mark != self._mark:
            self._take([*jobs.jobs_since(database, self._mark[2]), *jobs.open_jobs(database)], whole=False)
        else:
            self._take(jobs.open_jobs(database), whole=False)
        self._mark = mark
        return self._known

    def _take(self, found: list[Job], *, whole: bool) -> None:
        """What is equal stays the same object, so that comparing two readings costs next to nothing."""
        known = self._by_id
        now = {job.id: known[job.id] if known.get(job.id) == job else job for job in found}
        now = now if whole else {**known, **now}
        if len(now) != len(known) or any(known.get(job_id) is not job for job_id, job in now.items()):
            self._by_id = now
            self._known = tuple(now[job_id] for job_id in sorted(now, reverse=True))
