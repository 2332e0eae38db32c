"""Works on one run folder: `python -m engine.regen.worker RUN_FOLDER`. May be killed at any moment and started again.

Exit codes: 0 every sample has an outcome and the data is exported; 2 it cannot go on, and the run says why; 3 another
worker is at work; 4 paused.
"""

import asyncio
import contextlib
import logging
import signal
import sqlite3
import sys
import time
from pathlib import Path

from engine.regen.export import export_run
from engine.regen.plan import PlanError, lock_run, read_plan, take_in_inputs
from engine.regen.records import Plan
from engine.regen.reporting import DatabaseReporter, FolderReporter, Report, Reporter
from engine.regen.run import Run
from engine.regen.store import Store
from engine.regen.tokens.tokenizer import TokenizerError

REPORT_S = 1.0
PAUSED = 4
log = logging.getLogger("regen")


def work(folder: Path) -> int:
    """Work until done, stopped or stuck; returns the exit code."""
    reporter: Reporter = DatabaseReporter(folder)
    try:
        lock_run(folder)
    except PlanError as error:
        log.error("%s", error)
        return 3
    except OSError as error:
        return _failed(reporter, f"cannot work in {folder}: {error}")
    try:
        plan = read_plan(folder)
    except PlanError as error:
        return _failed(reporter, f"{error}; {error.remedy}")
    if plan.on != "local":
        reporter = FolderReporter(folder)
    try:
        _take_in(folder, plan, reporter)
        last = asyncio.run(_answer(folder, plan, reporter))
        if last is not None:
            _tell(reporter, last)
            return PAUSED
        manifest = export_run(folder, plan)
        failed = sum(manifest.failed.values())
        again = f"; {failed} failed: alula regen retry {plan.name}" if failed else ""
        _tell(reporter, Report(state="done", message=f"{manifest.answered} answered, in {manifest.file}{again}"))
    except (PlanError, TokenizerError) as error:
        return _failed(reporter, f"{error}; {error.remedy}")
    except (sqlite3.Error, OSError, ValueError) as error:
        remedy = f"mend it (is there room in {folder}?), then alula regen resume {plan.name}"
        return _failed(reporter, f"{type(error).__name__}: {error}; {remedy}")
    return 0


def _tell(reporter: Reporter, report: Report) -> None:
    log.info("%s %s", report.state, report.message)
    reporter.tell(report)


def _failed(reporter: Reporter, message: str) -> int:
    _tell(reporter, Report(state="failed", message=message))
    return 2


def _take_in(folder: Path, plan: Plan, reporter: Reporter) -> None:
    store = Store(folder)
    try:
        reporter.tell(Report(message="reading the inputs"))
        take_in_inputs(plan, store)
        samples, rejected, outcomes = store.size()
        reporter.tell(Report(total=samples, rejected=rejected))
        if samples == 0 and plan.shard is None:
            raise PlanError("the inputs hold no usable sample", f"see why: alula regen status {plan.name}")
        log.info("%d samples, %d records rejected, %d have an outcome", samples, rejected, outcomes)
    finally:
        store.close()


async def _answer(folder: Path, plan: Plan, reporter: Reporter) -> Report | None:
    """Answer what is pending. Returns that and why it has paused, or `None` where nothing is left."""
    stopping = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stopping.set)
    run = Run(folder, plan)
    ended = asyncio.Event()
    report = asyncio.create_task(tell_each_second(run, reporter, ended))
    try:
        await run.work(stopping)
    finally:
        ended.set()
        await report
    left = run.progress.total - run.progress.done - run.progress.failed_count
    if not left:
        return None
    if run.pause_reason is None:
        return Report(state="paused", message=f"stopped with {left} to go; alula regen resume {plan.name}")
    message = f"{run.pause_reason}: {_remedy(run, plan)}"
    return Report(state="paused", message=message, alert=run.pause_reason)


def _remedy(run: Run, plan: Plan) -> str:
    if run.stumbles.problem() is not None:
        return f"its log says more; report it, retry once it is mended: alula regen retry {plan.name}"
    if run.pool.problem() is None:
        return f"see alula regen flaws {plan.name}, then alula regen resume {plan.name}"
    return f"start the right server, then alula regen resume {plan.name}"


async def tell_each_second(run: Run, reporter: Reporter, ended: asyncio.Event) -> None:
    """Report how the run stands until it has ended, and once more then.

    Never cancelled: a write under way would land after the end. An error of its own is logged, and ends nothing:
    answers count for more than figures.
    """
    last = complained = False
    while not last:
        last = ended.is_set()
        try:
            progress = run.progress.report(0, time.time())
            told = Report(message=run.message(), progress=progress, detail=run.detail())
            await asyncio.to_thread(reporter.tell, told)
        except Exception:
            if not complained:
                log.exception("cannot tell how the run stands (it goes on)")
            complained = True
        if not last:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(ended.wait(), REPORT_S)


def main() -> int:
    """Work on the folder named in the arguments."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s", stream=sys.stdout)
    return work(Path(sys.argv[1]).absolute())


if __name__ == "__main__":
    sys.exit(main())
