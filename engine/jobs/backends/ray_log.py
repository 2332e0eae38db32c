"""Follows the log of a job on Ray into the run folder, where the same log view and the same bounds hold as for others.

Ray sends the whole log from its start on each connection. How much of it lies in the run folder already is kept beside
the log, with the length the log had then: what was written after that by an engine which was killed is cut off and
asked for again, so no line is missing and none stands twice.

Ray reads logs as UTF-8 text, and sends no more of one that is not: a line in the log says so then.
"""

import asyncio
from contextlib import suppress
from http import HTTPStatus
from pathlib import Path

import aiohttp
import msgspec

from engine.jobs.backends.ray_token import token_header
from engine.jobs.log_rotation import LogKeeper
from engine.jobs.run_folder import RunFolder, read
from state.records.jobs import Job

AGAIN_S = 2.0
LONGEST_WAIT_S = 60.0
LONGEST_MESSAGE = 64 << 20
"""Ray sends ten lines at once, however long these are."""


class Received(msgspec.Struct, frozen=True):
    """How far a log has been taken over."""

    received_bytes: int = 0
    log_bytes: int = 0


class RayLog:
    """One job's log; `done` is set when Ray has sent all of it."""

    def __init__(self, url: str, job: Job, backend_id: str) -> None:
        self.done = asyncio.Event()
        self._url = f"{url}/api/jobs/{backend_id}/logs/tail"
        self._check_url = f"{url}/api/jobs/{backend_id}/logs"
        self._unreadable = (
            "[alula: Ray cannot read this log to its end: bytes in it are no UTF-8. "
            f"It lies on the node as job-driver-{backend_id}.log]"
        )
        self._folder = RunFolder(Path(job.run_folder))
        self._mark = self._folder.path / "ray-log.json"
        self._keeper = LogKeeper(self._folder.log)
        self._task = asyncio.create_task(self._follow(), name=f"log of {backend_id}")

    async def close(self) -> None:
        """Follow no more."""
        self._task.cancel()
        with suppress(asyncio.CancelledError):
            await self._task

    async def _follow(self) -> None:
        wait_s = AGAIN_S
        while not self.done.is_set():
            with suppress(aiohttp.ClientError, OSError, TimeoutError):
                await self._receive()
            await asyncio.sleep(0 if self.done.is_set() else wait_s)
            wait_s = min(LONGEST_WAIT_S, wait_s * 2)

    async def _receive(self) -> None:
        self._folder.path.mkdir(mode=0o700, parents=True, exist_ok=True)
        mark = read(self._mark, Received) or Received()
        self._cut(mark.log_bytes)
        left = mark.received_bytes
        async with (
            aiohttp.ClientSession(headers=token_header()) as session,
            session.ws_connect(self._url, max_msg_size=LONGEST_MESSAGE, heartbeat=30.0) as connection,
        ):
            async for message in connection:
                if message.type is not aiohttp.WSMsgType.TEXT:
                    break
                text = message.data.encode(errors="replace")
                skipped = min(left, len(text))
                left -= skipped
                if skipped < len(text):
                    mark = self._add(mark, text[skipped:])
            if connection.close_code == aiohttp.WSCloseCode.OK:
                if not await self._is_readable(session):
                    self._add(mark, f"\n{self._unreadable}\n".encode())
                self.done.set()

    async def _is_readable(self, session: aiohttp.ClientSession) -> bool:
        """Ray closes the connection in the same way at the end of a log and where it cannot read on."""
        async with session.get(self._check_url) as answer:  # only its status is wanted, not the log
            return answer.status != HTTPStatus.INTERNAL_SERVER_ERROR

    def _cut(self, length: int) -> None:
        if self._folder.log.exists() and self._folder.log.stat().st_size > length:
            with self._folder.log.open("r+b") as log:
                log.truncate(length)

    def _add(self, mark: Received, text: bytes) -> Received:
        with self._folder.log.open("ab") as log:
            log.write(text)
        self._keeper.look()
        mark = Received(mark.received_bytes + len(text), self._folder.log.stat().st_size)
        part = self._mark.with_suffix(".part")
        part.write_bytes(msgspec.json.encode(mark))
        part.replace(self._mark)
        return mark
