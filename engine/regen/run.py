"""Answers all pending samples of a run: as many at once as the servers bear, one writer, all that counts on disk."""

import asyncio
import logging
import sqlite3
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path

import msgspec

from engine.regen.answering import Ask, Lease, answer_sample, chat
from engine.regen.generate import generate
from engine.regen.guard import Guard
from engine.regen.member import Member
from engine.regen.order import spread_order
from engine.regen.pool import Pool
from engine.regen.progress import Progress
from engine.regen.quality import flaws_of
from engine.regen.quality_watch import QualityWatch
from engine.regen.records import Answer, Failure, Plan, Sample, Sampling
from engine.regen.server import ChatServer
from engine.regen.steering import read_steering, steering_changed_at
from engine.regen.store import Store
from engine.regen.stumbles import Stumbles
from engine.regen.tokens.tokenizer import load_tokenizer
from engine.regen.tuning import MOST
from state.records.regeneration import RegenerationDetail

FETCHED = 512
WRITTEN_TOGETHER = 256
GATHER_S = 0.25
LOOK_S = 0.1
TEND_S = 1.0
DISK_AGAIN_S = 5.0
STOP_STORES_S = 8.0
"""How long a stop waits for answers in memory to be stored: well within the grace time of a job."""

log = logging.getLogger(__name__)

Result = Answer | Failure


class Run:
    """One pass over the pending samples of a run folder."""

    def __init__(self, folder: Path, plan: Plan) -> None:
        self.plan = plan
        self.folder = folder
        self.steering = read_steering(folder, plan)
        self.disk_problem = ""
        """Why nothing can be stored at present; answers wait in memory, and nothing more is asked."""
        self.steering_problem = ""
        """Why the operator's newest wishes are not followed."""
        self._tokenizer = load_tokenizer(Path(plan.tokenizer)) if plan.tokenizer else None
        self.guard = Guard(folder, plan.model, allow_lossy=plan.allow_lossy)
        self.pool = Pool(self.guard, self._make_server, self.steering.concurrency)
        self._reader = Store(folder)
        self._writer = Store(folder)
        tallies = self._reader.source_tallies()
        longest = max(one.max_tokens for one in (plan.sampling, *plan.sampling_by_source.values()))
        self.progress = Progress(tallies, self.pool.slots(), longest)
        self.quality = QualityWatch([tally.extent for tally in tallies], self._reader.flaws())
        self._results: asyncio.Queue[Result] = asyncio.Queue(maxsize=2 * WRITTEN_TOGETHER)
        self._answering: set[asyncio.Task[None]] = set()
        self._steered_at = steering_changed_at(folder)
        self.stumbles = Stumbles()

    @property
    def pause_reason(self) -> str | None:
        """Why the run must not go on by itself."""
        return self.pool.problem() or self.stumbles.problem() or self.quality.problem(self.steering.pause_at)

    async def work(self, stopping: asyncio.Event) -> None:
        """Go on until every sample has an outcome, `stopping` is set, or it must pause. Then all is on disk.

        Only a stop while nothing can be stored drops answers: they are asked again when the run goes on.
        """
        self.pool.set_servers(self.steering.servers)
        writer = asyncio.create_task(self._write())
        others = [asyncio.create_task(one) for one in (self._dispatch(), self._watch(stopping), self._tend())]
        self._broken: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        try:
            waited: list[asyncio.Future[None]] = [writer, *others, self._broken]
            await asyncio.wait(waited, return_when=asyncio.FIRST_COMPLETED)
            for task in waited:
                if task.done():
                    task.result()
        finally:
            for task in (*others, *self._answering):
                task.cancel()
            await asyncio.gather(*others, *self._answering, return_exceptions=True)
            self.progress.given_up()
            await self._store_the_rest(writer, stopping)
            await self.pool.close()
            self._reader.close()
            self._writer.close()
        if writer.done() and not writer.cancelled():
            writer.result()

    def detail(self) -> RegenerationDetail:
        """What is told of the run beside its figures."""
        detail = self.progress.detail(0, self._ids)
        sources = [
            msgspec.structs.replace(source, flaws=self.quality.all_flaws(source.name)) for source in detail.sources
        ]
        return msgspec.structs.replace(detail, sources=tuple(sources), servers=self.pool.told())

    def message(self) -> str:
        """What the run waits for or works around; empty where it runs freely."""
        waiting = self.pool.message()
        told = f"waiting: {waiting}" if waiting and self.pool.all_away() else waiting
        return self.disk_problem or self.steering_problem or told

    def _make_server(self, url: str) -> ChatServer:
        return ChatServer(url, self.plan.model, self.steering.concurrency or MOST, self.plan.limit_s)

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
        while not stopping.is_set() and self.pause_reason is None:
            self.progress.hold(self.pool.all_away())
            self.progress.resized(self.pool.slots())
            await asyncio.sleep(LOOK_S)

    async def _tend(self) -> None:
        """Follow the operator's wishes, and look after the servers."""
        while True:
            changed_at = steering_changed_at(self.folder)
            if changed_at != self._steered_at:
                self._steered_at = changed_at
                self._follow()
            await self.pool.look()
            await asyncio.sleep(TEND_S)

    def _follow(self) -> None:
        try:
            self.steering = read_steering(self.folder, self.plan)
        except (OSError, ValueError, RecursionError) as error:
            self.steering_problem = f"steering.json is not followed: {error}"
            return
        self.steering_problem = ""
        self.pool.set_concurrency(self.steering.concurrency)
        self.pool.set_servers(self.steering.servers)

    async def _dispatch(self) -> None:
        async for number, sample in self._pending():
            member = await self.pool.acquire()
            self.progress.start(number, member.server.url)
            task = asyncio.create_task(self._answer(number, sample, member))
            self._answering.add(task)
            task.add_done_callback(self._answered)
        while self._answering:
            await asyncio.wait(self._answering, return_when=asyncio.FIRST_COMPLETED)

    def _answered(self, task: asyncio.Task[None]) -> None:
        self._answering.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None and not self._broken.done():
            self._broken.set_exception(error)

    async def _pending(self) -> AsyncIterator[tuple[int, Sample]]:
        marks = await asyncio.to_thread(self._reader.marks)
        numbers = spread_order(len(marks) - 1)
        while batch := await asyncio.to_thread(_unmarked, numbers, marks):
            for number, sample in await asyncio.to_thread(self._reader.samples, batch):
                yield number, sample

    async def _answer(self, number: int, sample: Sample, member: Member) -> None:
        lease = Lease(self.pool, member)
        try:
            try:
                result = await answer_sample(number, sample, lease, self._ask(number, sample))
                if isinstance(result, Answer):
                    result = msgspec.structs.replace(result, flaws=flaws_of(sample, result))
                self.stumbles.went_well()
            except Exception as error:  # no answer may end a night's work, whatever a server sent
                result = self.stumbles.failure(number, error)
            await self._results.put(result)
        finally:
            lease.give_up()

    def _ask(self, number: int, sample: Sample) -> Ask:
        sampling = self._sampling(number, sample)
        if self._tokenizer is None or self.plan.tokenizer is None:
            return chat(sample, sampling)
        return generate(sample, sampling, self._tokenizer, Path(self.plan.tokenizer))

    def _sampling(self, number: int, sample: Sample) -> Sampling:
        sampling = self.plan.sampling_by_source.get(self.progress.source_name(number), self.plan.sampling)
        if sampling.seed is not None and sample.copy > 1:
            return msgspec.structs.replace(sampling, seed=sampling.seed + sample.copy - 1)
        return sampling

    async def _write(self) -> None:
        while True:
            batch = [await self._results.get()]
            await asyncio.sleep(GATHER_S if self._results.empty() else 0)
            while len(batch) < WRITTEN_TOGETHER and not self._results.empty():
                batch.append(self._results.get_nowait())
            await self._store(batch)
            for result in batch:
                self.progress.finish(result)
                self.quality.add(result)
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
