"""A search of the hub: all scouts side by side, then the table; how it stands is in the state database throughout."""

import sqlite3
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import msgspec

from engine.data.catalogue.catalogue import catalogue
from engine.data.discovery.answers import Answers
from engine.data.discovery.gate import Gate, gated
from engine.data.discovery.hub import Hub
from engine.data.discovery.rounds import ScoutRun
from engine.data.discovery.scouts import Scout
from engine.data.discovery.synthesis import curated
from engine.data.discovery.written import write_results
from state.data import update_search, write_scout
from state.database import open_database
from state.outside_text import plain_line
from state.records.data import DataSet, DataWorkState, ScoutProgress, ScoutState

DAY_S = 86_400.0


class SearchRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What to search for, and how."""

    name: str
    scouts: tuple[Scout, ...]
    offline: bool = False
    per_second: float = 5.0
    """Questions to the hub, of all scouts together."""
    timeout_s: float = 20.0
    fresh_s: float = 7 * DAY_S
    """Answers that are younger are not asked for again."""
    most_questions: int = 60
    """Of each scout."""


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """What came of a search."""

    state: DataWorkState
    message: str
    sets: tuple[DataSet, ...]
    seen: int
    asked: int
    from_hub: int
    kept_answers: int
    unanswered: int
    refused: int


class Search:
    """One search. `stop` may be called from a signal handler."""

    def __init__(
        self, request: SearchRequest, search_id: int, folder: Path, database_path: Path, told: Callable[[str], None]
    ) -> None:
        """`told` is given a line for each question that was asked, and each pause."""
        self.request = request
        self._id = search_id
        self._folder = folder
        self._path = database_path
        self._told = told
        self._stopped = threading.Event()
        self._lock = threading.Lock()

    def stop(self) -> None:
        """Ask no more; what was answered is kept."""
        self._stopped.set()

    def run(self) -> Outcome:
        """Send the scouts, and make the table of what they bring.

        Raises:
            OSError: The results cannot be written.
            sqlite3.Error: The state database cannot be written.
        """
        request = self.request
        with closing(open_database(self._path)) as kept, closing(open_database(self._path)) as database:
            answers = Answers(kept, fresh_s=request.fresh_s, offline=request.offline)
            gate = Gate(
                request.per_second, timeout_s=request.timeout_s, told=self._paused, stopped=self._stopped
            )  # fmt: skip
            runs = self._send(database, Hub(answers), gate)
            sets = curated(runs) or catalogue()
            outcome = self._outcome(runs, sets, answers, gate)
            write_results(self._folder, request.name, sets)
            update_search(
                database, self._id, state=outcome.state, message=outcome.message, ended_at=time.time(), sets=sets
            )  # fmt: skip
        return outcome

    def _send(self, database: sqlite3.Connection, hub: Hub, gate: Gate) -> list[ScoutRun]:
        def tell(run: ScoutRun, what: str) -> None:
            self._progress(database, run, "asking", what)

        def going(run: ScoutRun) -> None:
            try:
                run.run()
            finally:
                failed = run.asked > 0 and run.unanswered == run.asked
                self._progress(database, run, "failed" if failed else "done", "")

        runs = [ScoutRun(scout, hub, self.request.most_questions, tell) for scout in self.request.scouts]
        for run in runs:
            self._progress(database, run, "waiting", "")
        with gated(gate), ThreadPoolExecutor(max(1, len(runs)), "scout") as pool:
            for done in [pool.submit(going, run) for run in runs]:
                done.result()
        return runs

    def _progress(self, database: sqlite3.Connection, run: ScoutRun, state: ScoutState, what: str) -> None:
        good = len(run.good)
        progress = ScoutProgress(
            search_id=self._id,
            scout=run.scout.name,
            round=run.round,
            state=state,
            asked=run.asked,
            to_ask=run.asked if state in ("done", "failed") else run.to_ask,
            found=len(run.leads),
            kept=min(good, run.scout.wanted),
            message=plain_line(what if state == "asking" and not run.problem else run.problem, 300),
            updated_at=time.time(),
        )
        with self._lock:
            write_scout(database, progress)
        if what:
            self._told(f"{run.scout.name}: {run.round}, {what}: {len(run.leads)} seen, {good} fit")

    def _paused(self, seconds: float) -> None:
        self._told(f"the hub refuses (429): all scouts pause for {seconds:.0f} s")

    def _outcome(
        self, runs: Sequence[ScoutRun], sets: tuple[DataSet, ...], answers: Answers, gate: Gate
    ) -> Outcome:  # fmt: skip
        asked, unanswered = sum(run.asked for run in runs), sum(run.unanswered for run in runs)
        seen = len({name for run in runs for name in run.leads})
        kept = sum(one.kept for one in sets)
        message = f"{seen} sets seen, {len(sets)} looked at, {kept} kept"
        if not seen:
            message = "nothing was found; the table is the built-in catalogue"
        if unanswered:
            problem = next(run.problem for run in runs if run.problem)
            message += f"; {unanswered} of {asked} questions without an answer ({problem})"
        state: DataWorkState = "stopped" if self._stopped.is_set() else "failed" if not seen else "done"
        return Outcome(
            state=state,
            message=plain_line(message, 500),
            sets=sets,
            seen=seen,
            asked=asked,
            from_hub=answers.from_hub,
            kept_answers=answers.from_here,
            unanswered=unanswered,
            refused=gate.refused,
        )
