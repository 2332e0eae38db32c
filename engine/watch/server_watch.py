"""One server, asked again and again."""

import asyncio
import logging
import time

import httpx
import msgspec

from engine.watch.readings import Board, Readings
from engine.watch.server_client import NoAnswer, authorized, fetch
from engine.watch.server_discovery import FoundServer
from engine.watch.server_events import changes, other_start
from engine.watch.server_identity import Identity, Unreadable, identify
from engine.watch.server_metrics import Reader, accept_rate
from engine.watch.ticks import until_tick
from state.records.servers import Server, ServerHealth, ServerSample

log = logging.getLogger(__name__)
POLL_S = 1.0
DOWN_POLL_S = 5.0
IDENTIFY_S = 15.0
IDENTIFY_WITHOUT_METRICS_S = 5.0
METRICS_AGAIN_S = 60.0
HEALTH_S = 30.0
HEALTH_TIMEOUT_S = 20.0
_SAME_START_S = 2.0
_TOUCH_S = 5.0
_TELLING_TOKENS = 64
"""A mean over fewer tokens is that of the warm-up."""
_LOAD_SHARE = 10
"""A poll that took a while is followed by ten times as long a pause, so that it costs the server a tenth at most."""


class ServerWatch:
    """Polls one server and puts what it learns on the board."""

    def __init__(self, server: Server, board: Board, client: httpx.AsyncClient, api_key: str | None = None) -> None:
        self.server = server
        self._given_key = api_key
        self._headers = authorized(api_key)
        self._board = board
        self._client = client
        self._paths: dict[str, str] = {}
        self._reader = Reader()
        self._identity: Identity | None = None
        self._identify_due = self._metrics_due = 0.0
        self._put_from: Identity | None = None
        self._sick: str | None = None
        self._restarted = False
        self._answered = False

    async def run(self) -> None:
        """Poll until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._check_health())
            while True:
                begun = time.monotonic()
                pause = await self._poll_once(begun)
                took = time.monotonic() - begun
                await asyncio.sleep(max(until_tick(pause), min(took * _LOAD_SHARE, DOWN_POLL_S)))

    def found(self, process: FoundServer | None) -> None:
        """Take what is known of its process; `None` once that is gone."""
        known = self.server.started_at
        if process and known is not None and abs(process.started_at - known) > _SAME_START_S:
            self._restarted, self._answered = True, False
        if process is not None:
            self._headers = authorized(process.api_key or self._given_key)
        self._change(
            pid=process.pid if process else None,
            started_at=process.started_at if process else known,
            job_id=process.job_id if process else self.server.job_id,
        )

    async def _poll_once(self, clock: float) -> float:
        try:
            told = clock >= self._identify_due and await self._identify(clock)
            if await self._read_metrics(clock) and not told:
                self._restarted = True
                await self._identify(clock)
        except NoAnswer as problem:
            starting = problem.refused and self.server.pid is not None and not self._answered
            return self._trouble("starting" if starting else "down", str(problem))
        except Unreadable as problem:
            return self._trouble("unreadable", str(problem))
        except Exception:
            log.exception("the answers of %s could not be used", self.server.url)  # one server must not stop the others
            return self._trouble("unreadable", "its answers make no sense; the engine's log says more")
        self._answered = True
        self._change(health="down" if self._sick else "up", health_message=self._sick or self._remark())
        return POLL_S

    async def _identify(self, clock: float) -> bool:
        """Ask who it is. True where that shows a restart."""
        identity = self._identity = await identify(self._client, self.server.url, self._paths, self._headers)
        restarted = self._restarted or other_start(self.server.flags, identity.flags)
        self._restarted = False
        slow = IDENTIFY_S if self.server.metrics_enabled is not False else IDENTIFY_WITHOUT_METRICS_S
        self._identify_due = clock + slow
        self._change(
            framework=identity.framework,
            version=identity.version,
            model=identity.model,
            draft_model=identity.draft_model,
            speculative_algorithm=identity.speculative_algorithm,
            flags=dict(identity.flags),
            restarted=restarted,
        )
        return restarted

    async def _read_metrics(self, clock: float) -> bool:
        """Read a sample. True where the totals fell, as only a restart makes them."""
        assert self._identity is not None
        if clock < self._metrics_due and self.server.metrics_enabled is False:
            return self._put_sample_without_metrics()
        answer = await fetch(self._client, self.server.url + "/metrics", headers=self._headers)
        now = time.time()
        if answer.status != 200:
            self._metrics_due = clock + METRICS_AGAIN_S
            self._change(metrics_enabled=False)
            return self._put_sample_without_metrics()
        sample, ranks = self._reader.read(self.server.url, answer.body, now, clock)
        self._change(metrics_enabled=True)
        self._board.put(Readings(server_samples=(self._completed(sample),), server_ranks=ranks))
        return self._reader.restarted

    def _put_sample_without_metrics(self) -> bool:
        assert self._identity is not None
        if self._identity is not self._put_from:
            self._put_from = self._identity
            sample = _sample_without_metrics(self.server, self._identity, time.time())
            self._board.put(Readings(server_samples=(sample,)))
        return False

    def _completed(self, sample: ServerSample) -> ServerSample:
        """With the mean over the server's life where the metrics have no accept length yet."""
        identity, totals = self._identity, self._reader.totals
        enough = totals is not None and (totals.generated or 0.0) >= _TELLING_TOKENS
        if sample.accept_length is None and enough and identity is not None and identity.mean_accept_length is not None:
            length = identity.mean_accept_length
            rate = accept_rate(length, identity.flags.get("speculative_num_draft_tokens"))
            return msgspec.structs.replace(sample, accept_length=length, accept_rate=rate)
        return sample

    async def _check_health(self) -> None:
        failures = 0
        while True:
            await asyncio.sleep(HEALTH_S)
            if self.server.health != "up" and not self._sick:
                continue
            try:
                answer = await fetch(self._client, self.server.url + "/health", HEALTH_TIMEOUT_S, self._headers)
                failures = failures + 1 if answer.status >= 500 else 0
            except NoAnswer:
                failures += 1
            self._sick = "it answers, but its /health fails: its scheduler may hang" if failures >= 2 else None

    def _trouble(self, health: ServerHealth, message: str) -> float:
        self._identify_due = self._metrics_due = 0.0
        self._change(health=health, health_message=message)
        return DOWN_POLL_S if health != "starting" else POLL_S

    def _remark(self) -> str:
        if self.server.metrics_enabled is False:
            return "without --enable-metrics: no queues, latencies or token usage"
        return ""

    def _change(self, *, restarted: bool = False, **fields: object) -> None:
        before, now = self.server, time.time()
        after = msgspec.structs.replace(before, **fields)
        if after.health == "up" and now - before.seen_at >= _TOUCH_S:
            after = msgspec.structs.replace(after, seen_at=now)
        if after != before or restarted:
            self.server = after
            events = changes(before, after, now, restarted=restarted)
            self._board.put(Readings(servers=(after,), server_events=tuple(events)))


def _sample_without_metrics(server: Server, identity: Identity, now: float) -> ServerSample:
    length = identity.mean_accept_length if identity.last_tokens_per_s else None
    return ServerSample(
        url=server.url,
        taken_at=now,
        tokens_per_s=identity.last_tokens_per_s,
        accept_length=length,
        accept_rate=accept_rate(length, identity.flags.get("speculative_num_draft_tokens")),
    )
