"""When a started job is ready to work: its URL answers, or a line of its log says so."""

import asyncio
import re
import sqlite3
import time
from pathlib import Path

import httpx

from engine.context import EngineContext
from engine.watch.server_client import NoAnswer, fetch, open_client
from state.job_queue import jobs_getting_ready, write_ready
from state.jobs import add_event, request_stop
from state.outside_text import plain_line
from state.records.jobs import Job

LOOK_S = 1.0
READ_BYTES = 4 << 20
"""Of a log at one look; a longer burst is read at the next ones."""
LINE_BYTES = 4096
"""Of a line that is looked at."""


async def watch_readiness(context: EngineContext) -> None:
    """Look each second at the jobs that are getting ready."""
    database = context.database()
    logs: dict[int, LogSearch] = {}
    try:
        async with open_client() as client:
            while True:
                jobs = [job for job in jobs_getting_ready(database) if job.schedule.ready_url or job.schedule.ready_log]
                logs = {job.id: logs.get(job.id) or LogSearch(job) for job in jobs}
                await asyncio.gather(*(_look(database, client, job, logs[job.id]) for job in jobs))
                await asyncio.sleep(LOOK_S)
    finally:
        database.close()


class LogSearch:
    """Searches a growing log for a pattern, each line once."""

    def __init__(self, job: Job) -> None:
        self._path = Path(job.run_folder) / "log.txt"
        self._pattern = re.compile(job.schedule.ready_log) if job.schedule.ready_log else None
        self._offset = 0
        self._rest = b""

    def found(self) -> bool:
        """Whether a line that was added since the last call matches."""
        if self._pattern is None:
            return False
        try:
            with self._path.open("rb") as log:
                if log.seek(0, 2) < self._offset:  # it was rotated
                    self._offset, self._rest = 0, b""
                log.seek(self._offset)
                added = log.read(READ_BYTES)
        except OSError:
            return False
        self._offset += len(added)
        *lines, self._rest = (self._rest + added).split(b"\n")
        self._rest = self._rest[:LINE_BYTES]
        return any(self._pattern.search(line[:LINE_BYTES].decode(errors="replace")) for line in lines)


async def _look(database: sqlite3.Connection, client: httpx.AsyncClient, job: Job, log: LogSearch) -> None:
    now = time.time()
    if await _is_ready(client, job, log):
        if write_ready(database, job.id, now):
            took_s = now - (job.started_at or now)
            add_event(database, job.id, now, "running", f"ready after {took_s:.0f} s")
    elif job.started_at is not None and now - job.started_at > job.schedule.ready_within_s:
        request_stop(database, job.id, now, f"it was not ready within {job.schedule.ready_within_s:.0f} s")


async def _is_ready(client: httpx.AsyncClient, job: Job, log: LogSearch) -> bool:
    if log.found():
        return True
    if not job.schedule.ready_url:
        return False
    try:
        return (await fetch(client, plain_line(job.schedule.ready_url))).status == 200
    except NoAnswer:
        return False
