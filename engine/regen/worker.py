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
from collections.abc import Callable
from pathlib import Path

import msgspec

from engine.regen.export import export_run
from engine.regen.plan import PlanError, lock_run, read_plan, take_in_inputs
from engine.regen.records import Plan
from engine.regen.run import Run
from engine.regen.store import Store
from engine.regen.tokens.tokenizer import TokenizerError
from state.alerts import clear_alert, raise_alert
from state.database import open_database
from state.errors import StateError
from state.folder import state_folder
from state.outside_text import plain_line
from state.records.regeneration import RegenerationDetail, RegenerationProgress, RegenerationState
from state.regenerations import by_folder, set_message, set_state, set_totals, write_detail, write_progress

REPORT_S = 1.0
PAUSED = 4
ALERT = "regeneration-paused"
log = logging.getLogger("regen")


class Reporter:
    """Tells the state database how the run stands. A database that cannot be written never stops the run."""

    def __init__(self, folder: Path) -> None:
        self._database: sqlite3.Connection | None = None
        self._folder = folder
        self.run_id = 0
        self._complained = False

    def tell(self, write: Callable[[sqlite3.Connection, int], object]) -> None:
        """Run a write, and log once where it fails."""
        try:
            if self._database is None:
                self._database = open_database(state_folder().database_path)
                found = by_folder(self._database, str(self._folder))
                self.run_id = found.id if found else 0
            if self.run_id:
                write(self._database, self.run_id)
            self._complained = False
        except (sqlite3.Error, StateError, OSError) as error:
            self._database = None
            if not self._complained:
                log.error("cannot report progress: %s (the run goes on)", error)
            self._complained = True

    def alert(self, name: str, cause: str) -> None:
        """Open an alert that the run paused by itself."""
        remedy = f"`alula regen status {name}` shows more; `alula regen resume {name}` goes on."
        self.tell(
            lambda database, _: raise_alert(
                database, rule=ALERT, subject=f"regeneration {name}", severity="error",
                title=f"regeneration {name} has paused itself", cause=plain_line(cause, 500), remedy=remedy,
                now=time.time(),
            )
        )  # fmt: skip

    def no_alert(self, name: str) -> None:
        """Close that alert: the run goes on."""
        self.tell(lambda database, _: clear_alert(database, ALERT, f"regeneration {name}", time.time()))

    def state(self, state: RegenerationState, message: str = "") -> None:
        """Report a new state."""
        log.info("%s %s", state, message)
        self.tell(lambda database, run_id: set_state(database, run_id, state, plain_line(message, 500)))


def work(folder: Path) -> int:
    """Work until done, stopped or stuck; returns the exit code."""
    reporter = Reporter(folder)
    try:
        lock_run(folder)
    except PlanError as error:
        log.error("%s", error)
        return 3
    except OSError as error:
        reporter.state("failed", f"cannot work in {folder}: {error}")
        return 2
    try:
        plan = read_plan(folder)
    except PlanError as error:
        reporter.state("failed", f"{error}; {error.remedy}")
        return 2
    try:
        reporter.no_alert(plan.name)
        _take_in(folder, plan, reporter)
        outcome = asyncio.run(_answer(folder, plan, reporter))
        if outcome is not None:
            reporter.state("paused", outcome)
            return PAUSED
        manifest = export_run(folder, plan)
        failed = sum(manifest.failed.values())
        again = f"; {failed} failed: alula regen retry {plan.name}" if failed else ""
        reporter.state("done", f"{manifest.answered} answered, in {manifest.file}{again}")
    except (PlanError, TokenizerError) as error:
        reporter.state("failed", f"{error}; {error.remedy}")
        return 2
    except (sqlite3.Error, OSError, ValueError) as error:
        remedy = f"mend it (is there room in {folder}?), then alula regen resume {plan.name}"
        reporter.state("failed", f"{type(error).__name__}: {error}; {remedy}")
        return 2
    return 0


def _take_in(folder: Path, plan: Plan, reporter: Reporter) -> None:
    store = Store(folder)
    try:
        reporter.tell(lambda database, run_id: set_message(database, run_id, "reading the inputs"))
        take_in_inputs(plan, store)
        tally = store.tally()
        reporter.tell(lambda database, run_id: set_totals(database, run_id, tally.total, tally.rejected))
        reporter.tell(lambda database, run_id: set_message(database, run_id, ""))
        if tally.total == 0:
            raise PlanError("the inputs hold no usable sample", f"see why: alula regen status {plan.name}")
        log.info("%d samples, %d records rejected, %d done before", tally.total, tally.rejected, tally.done)
    finally:
        store.close()


async def _answer(folder: Path, plan: Plan, reporter: Reporter) -> str | None:
    """Answer what is pending. Returns why it was paused, or `None` where nothing is left."""
    stopping = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stopping.set)
    run = Run(folder, plan)
    ended = asyncio.Event()
    report = asyncio.create_task(_report(run, reporter, ended))
    try:
        await run.work(stopping)
    finally:
        ended.set()
        await report
    left = run.progress.total - run.progress.done - run.progress.failed_count
    if left and run.pause_reason is not None:
        reporter.alert(plan.name, run.pause_reason)
        return f"{run.pause_reason}: {_remedy(run, plan)}"
    return f"stopped with {left} to go; alula regen resume {plan.name}" if left else None


def _remedy(run: Run, plan: Plan) -> str:
    if run.pool.problem() is None:
        return f"see alula regen flaws {plan.name}, then alula regen resume {plan.name}"
    return f"start the right server, then alula regen resume {plan.name}"


async def _report(run: Run, reporter: Reporter, ended: asyncio.Event) -> None:
    """Report each second, and once more at the end. Never cancelled: a write under way would land after the end."""
    last = False
    while not last:
        last = ended.is_set()
        progress = run.progress.report(0, time.time())
        await asyncio.to_thread(_write_report, progress, run.detail(), run.message(), reporter)
        if not last:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(ended.wait(), REPORT_S)


def _write_report(progress: RegenerationProgress, detail: RegenerationDetail, message: str, reporter: Reporter) -> None:
    def write(database: sqlite3.Connection, run_id: int) -> None:
        write_progress(database, msgspec.structs.replace(progress, run_id=run_id))
        write_detail(database, msgspec.structs.replace(detail, run_id=run_id))
        set_message(database, run_id, plain_line(message, 500))

    reporter.tell(write)


def main() -> int:
    """Work on the folder named in the arguments."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s", stream=sys.stdout)
    return work(Path(sys.argv[1]).absolute())


if __name__ == "__main__":
    sys.exit(main())
