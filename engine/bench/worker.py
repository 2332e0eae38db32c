"""Works on one run folder: `python -m engine.bench.worker RUN_FOLDER`. May be killed at any moment and started again.

Exit codes: 0 every cell is complete; 1 some points failed, and the run says which; 2 it cannot go on; 3 another worker
is at work; 4 stopped.
"""

import asyncio
import contextlib
import logging
import os
import signal
import sqlite3
import sys
from collections.abc import Callable
from pathlib import Path

from engine.bench.cells import read_plan
from engine.bench.plans import lock_folder
from engine.bench.progress import Progress
from engine.bench.records import BenchError, Plan
from engine.bench.run import BenchRun
from state.bench import add_bench, find_bench, set_bench_size, set_bench_state, write_bench_progress
from state.database import open_database
from state.errors import StateError
from state.folder import state_folder
from state.outside_text import plain_line
from state.records.bench import Bench, BenchState

REPORT_S = 1.0
STOPPED = 4
log = logging.getLogger("bench")

Listener = Callable[[Progress], None]


class Reporter:
    """Tells the state database how it stands. A database that cannot be written never stops the measurement."""

    def __init__(self, folder: Path, plan: Plan) -> None:
        self._folder, self._plan = folder, plan
        self._database: sqlite3.Connection | None = None
        self._bench_id = 0
        self._complained = False

    def tell(self, write: Callable[[sqlite3.Connection, int], None]) -> None:
        """Run a write, and log once where it fails."""
        try:
            if self._database is None:
                self._database = open_database(state_folder().database_path)
                self._bench_id = self._row(self._database)
            write(self._database, self._bench_id)
            self._complained = False
        except (sqlite3.Error, StateError, OSError) as error:
            self._database = None
            if not self._complained:
                log.warning("cannot report progress: %s (the measurement goes on)", error)
            self._complained = True

    def state(self, state: BenchState, message: str = "") -> None:
        """Report a new state."""
        log.info("%s %s", state, message)
        self.tell(lambda database, bench_id: set_bench_state(database, bench_id, state, plain_line(message, 500)))

    def _row(self, database: sqlite3.Connection) -> int:
        """Its row; one that runs in a terminal has none before."""
        found = find_bench(database, str(self._folder))
        if found is not None:
            return found.id
        plan = self._plan
        bench = Bench(
            name=plan.name if find_bench(database, plan.name) is None else self._folder.name,
            kind=plan.kind,
            run_folder=str(self._folder),
            points=len(plan.points),
            cells=len(plan.points) * len(plan.loads) * plan.repeats,
            created_at=plan.created_at,
        )
        return add_bench(database, bench)


def work(folder: Path, listener: Listener | None = None) -> int:
    """Measure until done, stopped or stuck; returns the exit code."""
    try:
        lock = lock_folder(folder)
    except BenchError as error:
        log.error("%s; %s", error, error.remedy)
        return 3
    try:
        return _work(folder, listener)
    finally:
        os.close(lock)


def _work(folder: Path, listener: Listener | None) -> int:
    try:
        plan = read_plan(folder)
    except BenchError as error:
        log.error("%s; %s", error, error.remedy)
        return 2
    reporter = Reporter(folder, plan)
    reporter.state("running")
    try:
        run, stopped = asyncio.run(_measure(folder, plan, reporter, listener))
    except BenchError as error:
        reporter.state("failed", f"{error}; {error.remedy}")
        return 2
    except (OSError, ValueError, sqlite3.Error) as error:
        log.exception("cannot go on")
        reporter.state("failed", f"{type(error).__name__}: {error}")
        return 2
    if stopped:
        reporter.state("stopped", "go on: alula bench resume " + plan.name)
        return STOPPED
    if run.problems:
        name, problem = next(iter(run.problems.items()))
        more = f" (and {len(run.problems) - 1} more)" if len(run.problems) > 1 else ""
        reporter.state("done", f"{name}{more} failed: {problem.message}; {problem.remedy}")
        return 1
    reporter.state("done")
    return 0


async def _measure(folder: Path, plan: Plan, reporter: Reporter, listener: Listener | None) -> tuple[BenchRun, bool]:
    stopping = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stopping.set)
    progress = Progress(folder, plan)
    progress.listener = lambda doing: log.info("%s", doing)
    run, ended = BenchRun(folder, plan, progress), asyncio.Event()
    reporter.tell(lambda database, bench_id: set_bench_size(database, bench_id, len(plan.points), progress.total))
    report = asyncio.create_task(_report(progress, reporter, listener, ended))
    working = asyncio.create_task(run.work(stopping))
    stop = asyncio.create_task(stopping.wait())
    try:
        await asyncio.wait([working, stop], return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            working.cancel()  # also while a server is being waited for; what it started is stopped on the way out
            await asyncio.gather(working, return_exceptions=True)
        else:
            working.result()
    finally:
        stop.cancel()
        ended.set()
        await report
    return run, stopping.is_set()


async def _report(progress: Progress, reporter: Reporter, listener: Listener | None, ended: asyncio.Event) -> None:
    """Report each second, and once more at the end."""
    last = False
    while not last:
        last = ended.is_set()
        await asyncio.to_thread(
            reporter.tell, lambda database, bench_id: write_bench_progress(database, progress.report(bench_id))
        )
        if listener is not None:
            listener(progress)
        if not last:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(ended.wait(), REPORT_S)


def main() -> int:
    """Work on the folder named in the arguments."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s", stream=sys.stdout)
    logging.getLogger("httpx").setLevel(logging.WARNING)
    return work(Path(sys.argv[1]).absolute())


if __name__ == "__main__":
    sys.exit(main())
