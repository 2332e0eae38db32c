"""Ray, by the Jobs API of its dashboard, so that Ray itself need not be installed here."""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

import httpx
import msgspec

from engine.jobs.backends.cluster import Refused, Sighting, Submission, Unreachable, cluster_name
from engine.jobs.backends.ray_log import RayLog
from engine.jobs.backends.ray_states import RayJob, request_of, sighting_of
from engine.jobs.backends.ray_token import token_header
from engine.jobs.backends.target import RAY_PORT, ray_url
from state.outside_text import plain_line
from state.records.jobs import Job

ANSWER_LIMIT_S = 30.0
LOG_LIMIT_S = 10.0
"""How long the end of a job waits for the last lines of its log."""


class Ray:
    """The jobs on one Ray cluster."""

    def __init__(self, address: str) -> None:
        self._url = ray_url(address)
        self._client = httpx.AsyncClient(timeout=ANSWER_LIMIT_S, headers=token_header(), follow_redirects=False)
        self._logs: dict[int, RayLog] = {}

    def signs(self, job: Job) -> object:
        """Whether Ray has sent all of its log, which it does soon after the end."""
        return (log := self._logs.get(job.id)) is not None and log.done.is_set()

    def has_begun(self, job: Job) -> bool:
        """Nothing of it shows here."""
        return False

    async def look(self, jobs: Sequence[Job]) -> Mapping[int, Sighting]:
        """One list of all jobs."""
        names = {cluster_name(job): job for job in jobs}
        answer = await self._ask("GET", "/api/jobs/")
        _check(answer)
        try:
            listed = msgspec.json.decode(answer.content, type=list[RayJob])
        except (msgspec.MsgspecError, RecursionError) as error:
            raise Unreachable(f"{self._url} is no Jobs API of Ray: {plain_line(str(error), 100)}") from error
        found = {names[one.submission_id].id: sighting_of(one) for one in listed if one.submission_id in names}
        for name, job in names.items():
            if (sighting := found.get(job.id)) is not None and sighting.phase != "pending" and job.id not in self._logs:
                self._logs[job.id] = RayLog(self._url, job, name)
        await self._let_go({job.id for job in jobs})
        return found

    async def may_submit(self, job: Job) -> bool:
        """Always: Ray takes a submission id once."""
        return True

    async def submit(self, submission: Submission) -> str:
        """Ask for a start. A job that is there already was submitted by an engine which did not live to note it."""
        if submission.secrets:
            raise Refused("Ray shows variables to all who see its dashboard, so no secrets are sent there")
        answer = await self._ask("POST", "/api/jobs/", request_of(submission))
        if answer.status_code == httpx.codes.OK or "already exists" in answer.text:
            return submission.name
        if answer.status_code == httpx.codes.BAD_REQUEST:
            raise Refused(f"Ray refused it: {_last_line(answer.text)}")
        _check(answer)
        return submission.name

    async def stop(self, job: Job, backend_id: str, *, force: bool) -> None:
        """Ray itself ends what is left after the grace time that the job was submitted with."""
        answer = await self._ask("POST", f"/api/jobs/{backend_id}/stop")
        if answer.status_code != httpx.codes.NOT_FOUND:
            _check(answer)

    async def finish_log(self, job: Job) -> None:
        """Wait for the last lines."""
        if (log := self._logs.pop(job.id, None)) is not None:
            with suppress(TimeoutError):
                async with asyncio.timeout(LOG_LIMIT_S):
                    await log.done.wait()
            await log.close()

    async def close(self) -> None:
        """Follow no more logs."""
        await self._let_go(set())
        await self._client.aclose()

    async def _let_go(self, kept: set[int]) -> None:
        for job_id in set(self._logs) - kept:
            await self._logs.pop(job_id).close()

    async def _ask(self, method: str, path: str, content: dict[str, Any] | None = None) -> httpx.Response:
        try:
            return await self._client.request(method, self._url + path, json=content)
        except httpx.HTTPError as error:
            hint = "" if self._url.endswith(f":{RAY_PORT}") else f" (the dashboard's port is {RAY_PORT} by default)"
            words = plain_line(str(error) or type(error).__name__, 150)
            raise Unreachable(f"Ray does not answer at {self._url}: {words}{hint}") from error


def _check(answer: httpx.Response) -> None:
    if answer.status_code in (httpx.codes.UNAUTHORIZED, httpx.codes.FORBIDDEN):
        raise Unreachable(f"Ray at {answer.url.host} wants a token: give the engine RAY_AUTH_TOKEN")
    if answer.status_code != httpx.codes.OK:
        raise Unreachable(f"Ray at {answer.url.host} answers {answer.status_code}: {_last_line(answer.text)}")


def _last_line(text: str) -> str:
    lines = [plain_line(line, 200).strip() for line in text.splitlines()]
    return next((line for line in reversed(lines) if len(line) > 1), "nothing")
