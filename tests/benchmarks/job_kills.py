"""Engine and runners killed a thousand times (JOB_KILLS) over a queue of short jobs: run twice, forgotten, wrong ends.

JOB_SEED gives the seed. No peer is measured beside it: what is to be counted is nothing.
"""

import os
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

from engine.client import Client, CommandRefused, EngineUnavailable
from state.folder import state_folder
from tests.benchmarks.results import Result
from tests.jobs.chaos import Chaos

KILLS = int(os.environ.get("JOB_KILLS", "1000"))
SEED = int(os.environ.get("JOB_SEED", "1"))


def run(report: Callable[[str], None]) -> Iterator[Result]:
    """All kills, then the counts."""
    with tempfile.TemporaryDirectory() as name:
        before, os.environ["ALULA_HOME"] = os.environ.get("ALULA_HOME"), f"{name}/home"
        client = Client(state_folder())
        started = time.monotonic()
        try:
            outcome = Chaos(client, Path(name), SEED).run(KILLS, report)
        finally:
            with suppress(EngineUnavailable, CommandRefused):
                client.ask("engine.stop", {}, timeout_s=20.0)
            os.environ.pop("ALULA_HOME") if before is None else os.environ.update(ALULA_HOME=before)
    for line in (*outcome.twice, *outcome.wrong):
        report(line)
    for kind, count in sorted(outcome.kills.items()):
        yield Result(kind, "killed", count, "times")
    for state, count in sorted(outcome.ends.items()):
        yield Result("jobs", state, count, "jobs")
    yield Result("jobs", "run twice", len(outcome.twice), "jobs", 0)
    yield Result("jobs", "forgotten", outcome.forgotten, "jobs", 0)
    yield Result("jobs", "never asked for", outcome.unasked, "jobs", 0)
    yield Result("jobs", "wrong end recorded", len(outcome.wrong), "jobs", 0)
    yield Result("all", "took", time.monotonic() - started, "s")
