"""Worker processes that make parts; none outlives its parent."""

import contextlib
import multiprocessing
import multiprocessing.connection
import os
import signal
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait

from engine.data.plan.records import Plan
from engine.data.prepare.block import Block, BlockWorker
from engine.data.prepare.contamination import BenchmarkIndex, BenchmarkPrompt
from engine.data.prepare.filtering import Filters
from engine.data.prepare.parts import Part, Tally

Done = Callable[[Part, Tally], None]
WAITING_FOR_EACH = 2
"""Blocks that wait for a process: enough to keep it busy, few enough to keep memory flat."""

_worker: BlockWorker | None = None


def make_worker(plan: Plan, prompts: list[BenchmarkPrompt]) -> BlockWorker:
    """A worker with the filters of a plan."""
    settings = plan.decontamination
    index = BenchmarkIndex(prompts, settings.words, settings.overlap) if prompts else None
    return BlockWorker(plan, Filters(plan, index))


def make_parts(
    blocks: Iterable[tuple[Block, Part]], plan: Plan, prompts: list[BenchmarkPrompt], workers: int, done: Done
) -> None:
    """Make the part of each block, in this process or in several, and tell of each as soon as it is done."""
    if workers <= 1:
        worker = make_worker(plan, prompts)
        for block, part in blocks:
            done(part, worker.make(block, part))
        return
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, context, _begin, (plan, prompts)) as pool:
        try:
            _spread(blocks, pool, workers, done)
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise


def _spread(blocks: Iterable[tuple[Block, Part]], pool: ProcessPoolExecutor, workers: int, done: Done) -> None:
    waiting: dict[Future[Tally], Part] = {}

    def collect(most: int) -> None:
        while len(waiting) > most:
            for future in wait(waiting, return_when=FIRST_COMPLETED).done:
                done(waiting.pop(future), future.result())

    for block, part in blocks:
        waiting[pool.submit(_make, block, part)] = part
        collect(workers * WAITING_FOR_EACH)
    collect(0)


def _begin(plan: Plan, prompts: list[BenchmarkPrompt]) -> None:
    global _worker
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for name in ("RAYON_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ.setdefault(name, "1")
    threading.Thread(target=_end_with_parent, daemon=True).start()
    _worker = make_worker(plan, prompts)


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        with contextlib.suppress(OSError):
            multiprocessing.connection.wait([parent.sentinel])
        os._exit(1)


def _make(block: Block, part: Part) -> Tally:
    assert _worker is not None
    return _worker.make(block, part)
