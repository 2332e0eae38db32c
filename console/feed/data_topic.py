"""What the screens of training data are told: searches with their scouts, and preparations."""

import sqlite3

from state import data, jobs
from state.records.data import DataWork, SearchRow

SEARCHES_SHOWN = 30
"""Each carries its whole table."""


def read_data(database: sqlite3.Connection) -> tuple[DataWork, ...]:
    """All of it, the newest first."""
    running = {job.run_folder: job.id for job in jobs.open_jobs(database)}
    found: list[DataWork] = list(data.read_preparations(database))
    for search in data.read_searches(database)[:SEARCHES_SHOWN]:
        scouts = tuple(data.read_scouts(database, search.id))
        found.append(SearchRow(search, scouts, running.get(search.run_folder)))
    return tuple(sorted(found, key=_begun_at, reverse=True))


def _begun_at(work: DataWork) -> float:
    return work.search.created_at if isinstance(work, SearchRow) else work.created_at
