"""Puts a load on a server: so many requests at once, or so many a second at random moments."""

import asyncio
import itertools
import random
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import msgspec

from engine.bench.asking import Asker
from engine.bench.client_cost import ClientMeter
from engine.bench.records import ClientCost, Load, Prompt, RequestRecord
from engine.bench.stream import Reading

MOST_IN_FLIGHT = 4096
"""An open loop that has so many unanswered holds back, and says so."""
_LOST = frozenset({"refused", "connection_lost"})

Keep = Callable[[RequestRecord, Reading | None], None]


class Tally(msgspec.Struct):
    """How far a load is; read by whoever reports progress."""

    done: int = 0
    failed: int = 0
    in_flight: int = 0
    tokens: int = 0
    total: int | None = None
    """Requests in all; `None` where time ends it."""


class LoadEnd(msgspec.Struct, frozen=True, kw_only=True):
    """How a load ended."""

    wall_s: float
    """From the first byte sent to the last answer's end."""
    client: ClientCost
    ended_early: str = ""


class LoadRun:
    """One load on one server. `keep` gets every record as soon as it is there; nothing else is held."""

    def __init__(self, asker: Asker, load: Load, prompts: Sequence[Prompt], keep: Keep, seed: int = 0) -> None:
        self.tally = Tally(total=load.requests or (len(prompts) if load.duration_s is None else None))
        self._asker, self._load, self._prompts, self._keep = asker, load, prompts, keep
        self._random = random.Random(seed)
        self._meter = ClientMeter()
        self._zero = 0.0
        self._last = 0.0
        self._ended_early = ""
        self._lost_in_a_row = 0
        self._stopping = asyncio.Event()

    async def run(self, stopping: asyncio.Event) -> LoadEnd:
        """Measure until the count or the time is reached, the server is lost, or `stopping` is set."""
        self._stopping = stopping
        self._zero = self._last = time.perf_counter()
        self._meter.start()
        await (self._closed() if self._load.rate is None else self._open())
        client = self._meter.stop()
        if stopping.is_set() and not self._ended_early:
            self._ended_early = "stopped by the operator"
        return LoadEnd(wall_s=self._last - self._zero, client=client, ended_early=self._ended_early)

    async def warm_up(self, stopping: asyncio.Event) -> None:
        """Ask the first prompts and drop what comes."""
        waiting = itertools.islice(self._numbered(), self._load.warmup)

        async def slot() -> None:
            for prompt in waiting:
                if stopping.is_set():
                    return
                await self._asker.ask(prompt, 0.0)

        await asyncio.gather(*(slot() for _ in range(min(self._load.warmup, self._load.concurrency or 1))))

    def _numbered(self) -> Iterator[Prompt]:
        """Prompts in order, again and again; a second pass has names of its own."""
        for turn in itertools.count(1):
            for prompt in self._prompts:
                yield prompt if turn == 1 else msgspec.structs.replace(prompt, id=f"{prompt.id}@{turn}")

    def _wanted(self) -> Iterator[Prompt]:
        limit_at = self._zero + self._load.duration_s if self._load.duration_s is not None else None
        for prompt in itertools.islice(self._numbered(), self.tally.total):
            over = limit_at is not None and time.perf_counter() >= limit_at
            if over or self._stopping.is_set() or self._ended_early:
                return
            yield prompt

    async def _closed(self) -> None:
        waiting = self._wanted()

        async def slot() -> None:
            for prompt in waiting:
                await self._ask(prompt, 0.0)

        await self._until_done([asyncio.ensure_future(slot()) for _ in range(self._load.concurrency or 1)])

    async def _open(self) -> None:
        assert self._load.rate is not None
        flying: set[asyncio.Future[None]] = set()
        stop = asyncio.ensure_future(self._stopping.wait())
        due = self._zero
        for prompt in self._wanted():
            due += self._random.expovariate(self._load.rate)
            if (pause := due - time.perf_counter()) > 0:
                await asyncio.wait([stop], timeout=pause)
                if self._stopping.is_set():
                    break
            if len(flying) >= MOST_IN_FLIGHT:
                await asyncio.wait(flying, return_when=asyncio.FIRST_COMPLETED)
            late_s = max(0.0, time.perf_counter() - due)
            self._meter.late(late_s)
            task = asyncio.ensure_future(self._ask(prompt, late_s))
            flying.add(task)
            task.add_done_callback(flying.discard)
        stop.cancel()
        await self._until_done(list(flying))

    async def _until_done(self, tasks: "list[asyncio.Future[None]]") -> None:
        """Wait for all; a stop drops what is in flight."""
        if not tasks:
            return
        everything = asyncio.gather(*tasks)
        stop = asyncio.ensure_future(self._stopping.wait())
        waited: list[asyncio.Future[Any]] = [everything, stop]
        try:
            await asyncio.wait(waited, return_when=asyncio.FIRST_COMPLETED)
            if everything.done():
                everything.result()
        finally:
            stop.cancel()
            for task in tasks:
                task.cancel()
            await asyncio.gather(everything, stop, *tasks, return_exceptions=True)

    async def _ask(self, prompt: Prompt, late_s: float) -> None:
        self.tally.in_flight += 1
        try:
            found = await self._asker.ask(prompt, self._zero, late_s)
        finally:
            self.tally.in_flight -= 1
        self._last = time.perf_counter()
        for record, reading in found:
            self._keep(record, reading)
            self._meter.requests += 1
            self.tally.tokens += record.completion_tokens or 0
            self._watch_for_loss(record)
        self.tally.done += 1
        self.tally.failed += found[-1][0].failure is not None

    def _watch_for_loss(self, record: RequestRecord) -> None:
        self._lost_in_a_row = self._lost_in_a_row + 1 if record.failure in _LOST else 0
        if self._lost_in_a_row >= max(5, self._load.concurrency or 1) and not self._ended_early:
            self._ended_early = (
                f"the server was lost after {self.tally.done - self.tally.failed} answers: {record.message}"
            )
