"""Answers all pending samples of a run: a fixed number of slots, one writer, nothing counted before it is on disk."""

import asyncio
import logging
import sqlite3
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from engine.regen.answering import ServerGate, answer_sample
from engine.regen.order import spread_order
from engine.regen.progress import Progress
from engine.regen.records import Answer, Failure, Plan, Sample
from engine.regen.server import ChatServer
from engine.regen.store import Store
from state.records.regeneration import RegenerationDetail

FETCHED = 512
WRITTEN_TOGETHER = 256
GATHER_S = 0.25
DISK_AGAIN_S = 5.0
STOP_STORES_S = 8.0
"""How long a stop waits for answers in memory to be stored: well within the grace time of a job."""

log = logging.getLogger(__name__)

Result = Answer | Failure


class Run:
    """One pass over the pending samples of a run folder."""

    def __init__(self, folder: Path, plan: Plan, server: ChatServer) -> None:
        self.plan = plan
        self.server = server
        self.gate = ServerGate(server)
        self.disk_problem = ""
        """Why nothing can be stored at present; answers wait in memory, and nothing more is asked."""
        self._reader = Store(folder)
        self._writer = Store(folder)
        self.progress = Progress(self._reader.source_tallies(), plan.concurrency, plan.sampling.max_tokens)
        self._samples: asyncio.Queue[tuple[int, Sample] | None] = asyncio.Queue(maxsize=2)
        self._results: asyncio.Queue[Result] = asyncio.Queue(maxsize=2 * WRITTEN_TOGETHER)

    async def work(self, stopping: asyncio.Event) -> None:
        """Go on until every sample has an outcome, `stopping` is set, or the server changed. Then all is on disk.

        Only a stop while nothing can be stored drops answers: they are asked again when the run goes on.
        """
        slots = [asyncio.create_task(self._slot()) for _ in range(self.plan.concurrency)]
        writer = asyncio.create_task(self._write())
        feeder = asyncio.create_task(self._feed())
        watch = asyncio.create_task(self._watch(stopping))
        everything = asyncio.gather(feeder, *slots)
        try:
            waited: list[asyncio.Future[Any]] = [everything, watch, writer]
            await asyncio.wait(waited, return_when=asyncio.FIRST_COMPLETED)
            for task in waited:
                if task.done():
                    task.result()
        finally:
            for task in (feeder, *slots, watch):
                task.cancel()
            await asyncio.gather(feeder, *slots, watch, everything, return_exceptions=True)
            self.progress.given_up()
            await self._store_the_rest(writer, stopping)
            self._reader.close()
            self._writer.close()
        if writer.done() and not writer.cancelled():
            writer.result()

    def detail(self) -> RegenerationDetail:
        """What is told of the run beside its figures."""
        return self.progress.detail(0, self._ids)

    def _ids(self, numbers: Sequence[int]) -> Mapping[int, str]:
        return self._reader.names(numbers) if numbers else {}

    async def _store_the_rest(self, writer: asyncio.Task[None], stopping: asyncio.Event) -> None:
        joined = asyncio.create_task(self._results.join())
        stopped = asyncio.create_task(stopping.wait())
        await asyncio.wait([joined, stopped, writer], return_when=asyncio.FIRST_COMPLETED)
        if not writer.done():
            await asyncio.wait([joined, writer], timeout=STOP_STORES_S, return_when=asyncio.FIRST_COMPLETED)
        if not joined.done():
            log.error("answers in memory could not be stored and will be asked again: %s", self.disk_problem)
        for task in (joined, stopped, writer):
            task.cancel()
        await asyncio.gather(joined, stopped, writer, return_exceptions=True)

    async def _watch(self, stopping: asyncio.Event) -> None:
        while not stopping.is_set() and self.gate.model_changed is None:
            self.gate.check()
            self.progress.hold(bool(self.gate.message))
            await asyncio.sleep(0.1)

    async def _feed(self) -> None:
        async for number, sample in self._pending():
            await self._samples.put((number, sample))
        for _ in range(self.plan.concurrency):
            await self._samples.put(None)

    async def _pending(self) -> AsyncIterator[tuple[int, Sample]]:
        marks = await asyncio.to_thread(self._reader.marks)
        numbers = spread_order(len(marks) - 1)
        while batch := await asyncio.to_thread(_unmarked, numbers, marks):
            for number, sample in await asyncio.to_thread(self._reader.samples, batch):
                yield number, sample

    async def _slot(self) -> None:
        while (next_one := await self._samples.get()) is not None:
            number, sample = next_one
            self.progress.start(number)
            await self._results.put(await answer_sample(number, sample, self.server, self.gate))

    async def _write(self) -> None:
        while True:
            batch = [await self._results.get()]
            await asyncio.sleep(GATHER_S if self._results.empty() else 0)
            while len(batch) < WRITTEN_TOGETHER and not self._results.empty():
                batch.append(self._results.get_nowait())
            await self._store(batch)
            for result in batch:
                self.progress.finish(result)
                self._results.task_done()

    async def _store(self, batch: list[Result]) -> None:
        while True:
            try:
                await asyncio.to_thread(self._writer.write, batch)
            except sqlite3.OperationalError as error:
                if not self.disk_problem:
                    log.error("cannot store answers: %s; trying again every %.0f s", error, DISK_AGAIN_S)
                self.disk_problem = f"cannot store answers: {error}"
                await asyncio.sleep(DISK_AGAIN_S)
            else:
                self.disk_problem = ""
                return


def _unmarked(numbers: Iterator[int], marks: bytearray) -> list[int]:
    return list(islice((number for number in numbers if not marks[number]), FETCHED))
