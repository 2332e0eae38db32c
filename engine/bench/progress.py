"""How far a benchmark is, and when it will be done."""

import time
from collections.abc import Callable
from pathlib import Path

from engine.bench.cells import cell_name, read_end
from engine.bench.load import Tally
from engine.bench.records import Load, Plan
from state.records.bench import BenchProgress


class Progress:
    """Kept by the run, read by whoever reports it."""

    def __init__(self, folder: Path, plan: Plan) -> None:
        self.plan, self._folder = plan, folder
        self.total = len(plan.points) * len(plan.loads) * plan.repeats
        self.doing = ""
        self._tally = Tally()
        self._load: Load | None = None
        self._began = time.monotonic()
        self._tokens_before = 0
        self._looked_at = time.monotonic()
        self._took: dict[str, list[float]] = {}
        self._starts: list[float] = []
        self._skipped: set[str] = set()
        self._point = ""
        self._left = self._left_by_load()
        self.listener: Callable[[str], None] | None = None

    def point(self, name: str, repeat: int) -> None:
        """A point begins."""
        self._point = name
        round_of = f", round {repeat + 1} of {self.plan.repeats}" if self.plan.repeats > 1 else ""
        self._round = round_of
        self.say("begins")

    _round = ""

    def say(self, doing: str) -> None:
        """What is done now, in words."""
        self.doing = f"{self._point}{self._round}: {doing}"
        if self.listener is not None:
            self.listener(self.doing)

    def started(self, seconds: float) -> None:
        """A server took so long to be ready."""
        self._starts.append(seconds)

    def cell(self, name: str, load: Load, tally: Tally) -> None:
        """A cell begins."""
        self._load, self._tally, self._began = load, tally, time.monotonic()
        self._tokens_before, self._looked_at = 0, self._began
        words = f"{load.concurrency} at once" if load.rate is None else f"{load.rate:g} requests/s"
        self.say(f"measuring {words}")

    def finish(self, wall_s: float) -> None:
        """A cell is complete."""
        if self._load is not None:
            self._took.setdefault(self._load.name, []).append(time.monotonic() - self._began)
        self._left = self._left_by_load()
        self._load = None

    def skip(self, point: str) -> None:
        """A point cannot be measured: its cells do not count as left."""
        self._skipped.add(point)
        self._left = self._left_by_load()

    def report(self, bench_id: int) -> BenchProgress:
        """Where it stands."""
        now = time.monotonic()
        tally, span = self._tally, max(1e-6, now - self._looked_at)
        speed = (tally.tokens - self._tokens_before) / span if self._load is not None else None
        self._tokens_before, self._looked_at = tally.tokens, now
        return BenchProgress(
            bench_id=bench_id,
            taken_at=time.time(),
            cells_done=self.total - sum(self._left.values()),
            cell=self.doing,
            requests_done=tally.done,
            requests_total=tally.total,
            failed=tally.failed,
            in_flight=tally.in_flight,
            tokens_per_s_now=speed,
            eta_s=self._eta(now),
        )

    def _eta(self, now: float) -> float | None:
        """Each load as long as its like took so far; one never seen as long as the mean of all."""
        known = [seconds for took in self._took.values() for seconds in took]
        if not known:
            return self._first_eta(now)
        usual = sum(known) / len(known)
        left = 0.0
        for name, count in self._left.items():
            took = self._took.get(name)
            left += count * (sum(took) / len(took) if took else usual)
        running = now - self._began if self._load is not None else 0.0
        return max(0.0, left - running)

    def _first_eta(self, now: float) -> float | None:
        """Within the first cell, by the share of its requests that is done."""
        tally = self._tally
        if self._load is None or not tally.total or not tally.done:
            return None
        whole = (now - self._began) * tally.total / tally.done
        return whole * sum(self._left.values()) - (now - self._began)

    def _left_by_load(self) -> dict[str, int]:
        left: dict[str, int] = {}
        for repeat in range(self.plan.repeats):
            for point in self.plan.points:
                for load in self.plan.loads:
                    done = read_end(self._folder, cell_name(point.name, load, repeat)) is not None
                    if not done and point.name not in self._skipped:
                        left[load.name] = left.get(load.name, 0) + 1
        return left
