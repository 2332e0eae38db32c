"""Counts what a run does while it runs, and turns the counts into the progress that operators see."""

import bisect
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence

import msgspec

from engine.regen.eta import Eta, Source, estimate
from engine.regen.eta_words import Mark, why_moved
from engine.regen.lengths import LengthSums
from engine.regen.paces import Paces
from engine.regen.records import Answer, Extent, Failure, SourceTally
from engine.regen.speed import SpeedHistory, Window
from state.records.regeneration import RegenerationDetail, RegenerationProgress, SlowSample, SourceProgress

NOW_S = 15.0
"""Window of the speed «now»."""
MINUTES_S = 300.0
"""Window of the speed of the last minutes."""
MARK_S = 600.0
"""The ETA is held against the one of so long ago."""
MOST_SLOWEST = 5


class _SourceCount(msgspec.Struct):
    extent: Extent
    done: int
    failed: int
    sums: LengthSums


class _Flight(msgspec.Struct, frozen=True):
    started: float
    """On the clock that stands still while the run waits for a server."""
    server: str


class Progress:
    """What one worker has seen. Times are monotonic, so that a step of the clock changes nothing."""

    def __init__(
        self,
        tallies: Sequence[SourceTally],
        slots: int,
        longest: int,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.slots = slots
        self.total = sum(tally.extent.count for tally in tallies)
        self.done = sum(tally.done for tally in tallies)
        self.failed: dict[str, int] = {}
        for tally in tallies:
            for kind, count in tally.failed.items():
                self.failed[kind] = self.failed.get(kind, 0) + count
        self.completion_tokens = sum(tally.tokens for tally in tallies)
        self.in_flight: dict[int, _Flight] = {}
        """By number of the sample."""
        self._sources = [_counted(tally) for tally in tallies]
        self._firsts = [source.extent.first for source in self._sources]
        self._cap = float(longest)
        self._clock = clock
        self._began = clock()
        self._held_s = 0.0
        self._held_since: float | None = None
        self._tokens_at_start = self.completion_tokens
        self._recent: deque[tuple[float, int]] = deque()
        self._history = SpeedHistory()
        self._paces = Paces()
        self._window = Window(0.0, 0.0, 0.0, 0.0)
        self._counted_at = self._began
        self._marks: deque[Mark] = deque()

    @property
    def failed_count(self) -> int:
        """Samples that could not be answered."""
        return sum(self.failed.values())

    def start(self, number: int, server: str = "") -> None:
        """A sample is being asked, of this server."""
        now = self._active()
        self._count_time(now)
        self.in_flight[number] = _Flight(now, server)

    def finish(self, result: Answer | Failure) -> None:
        """A sample has its outcome."""
        now = self._active()
        self._count_time(now)
        flight = self.in_flight.pop(result.number, None)
        took_s = now - flight.started if flight else 0.0
        source = self._source(result.number)
        tokens = result.completion_tokens if isinstance(result, Answer) else 0
        window = self._window
        self._window = Window(window.span_s, window.tokens + tokens, window.seconds + took_s, window.busy)
        if flight:
            self._paces.add(flight.server, tokens, took_s)
        if isinstance(result, Failure):
            self.failed[result.kind] = self.failed.get(result.kind, 0) + 1
            source.failed += 1
            source.sums.failed += 1
            return
        self.done += 1
        source.done += 1
        source.sums.add(tokens)
        self.completion_tokens += tokens
        self._recent.append((now, tokens))

    def hold(self, held: bool) -> None:
        """Whether the run waits for servers that are all away: such time counts for no speed."""
        now = self._clock()
        if held and self._held_since is None:
            self._count_time(self._active())
            self._held_since = now
        elif not held and self._held_since is not None:
            self._held_s += now - self._held_since
            self._held_since = None

    def resized(self, slots: int) -> None:
        """Concurrency or servers have changed: the speed is learnt anew, what is known of lengths stays."""
        if slots != self.slots:
            self.slots = slots
            self._history.restart()
            self._window = Window(0.0, 0.0, 0.0, 0.0)

    def look(self) -> Eta | None:
        """Count the time until now, and say when all will be done."""
        now = self._active()
        self._count_time(now)
        eta = self._estimate(now)
        self._mark(now, eta)
        return eta

    def source_name(self, number: int) -> str:
        """The input that a sample came from."""
        return self._source(number).extent.name

    def report(self, run_id: int, wall_time: float) -> RegenerationProgress:
        """The progress at this moment. To be called about once a second."""
        eta = self.look()
        now = self._active()
        active_s = now - self._began
        made = self.completion_tokens - self._tokens_at_start
        return RegenerationProgress(
            run_id=run_id,
            taken_at=wall_time,
            done=self.done,
            failed=self.failed_count,
            failed_by_kind=dict(self.failed),
            in_flight=len(self.in_flight),
            completion_tokens=self.completion_tokens,
            tokens_per_s_now=self._speed(now, NOW_S),
            tokens_per_s_5m=self._speed(now, MINUTES_S),
            tokens_per_s_overall=made / active_s if made and active_s > 0 else None,
            eta_s=eta.median_s if eta else None,
            eta_low_s=eta.low_s if eta else None,
            eta_high_s=eta.high_s if eta else None,
        )

    def given_up(self) -> None:
        """Nothing is in flight any more."""
        self._count_time(self._active())
        self.in_flight.clear()

    def detail(self, run_id: int, ids: Callable[[Sequence[int]], Mapping[int, str]]) -> RegenerationDetail:
        """What is told of the run beside its figures; `ids` gives the ids of samples. After `report`."""
        now = self._active()
        oldest = sorted(self.in_flight.items(), key=lambda item: item[1].started)[:MOST_SLOWEST]
        names = ids([number for number, _ in oldest])
        return RegenerationDetail(
            run_id=run_id,
            sources=tuple(self._told(source) for source in self._sources),
            slowest=tuple(SlowSample(names[number], now - flight.started) for number, flight in oldest),
            moved=why_moved(self._marks[0], self._marks[-1]) if self._marks else "",
            concurrency=self.slots,
        )

    def _told(self, source: _SourceCount) -> SourceProgress:
        return SourceProgress(
            source.extent.name, source.extent.count, source.done, source.failed, int(source.sums.tokens)
        )

    def _active(self) -> float:
        return (self._clock() if self._held_since is None else self._held_since) - self._held_s

    def _source(self, number: int) -> _SourceCount:
        return self._sources[bisect.bisect_right(self._firsts, number) - 1]

    def _count_time(self, now: float) -> None:
        passed = now - self._counted_at
        if passed <= 0:
            return
        window = self._window
        span_s = window.span_s + passed
        busy = (window.busy * window.span_s + len(self.in_flight) * passed) / span_s
        self._window = Window(span_s, window.tokens, window.seconds, busy)
        self._counted_at = now

    def _speed(self, now: float, span_s: float) -> float | None:
        while self._recent and self._recent[0][0] < now - MINUTES_S:
            self._recent.popleft()
        passed = min(span_s, now - self._began)
        if not self._recent or passed <= 0:
            return None
        return _tokens_since(self._recent, now - span_s) / passed

    def _estimate(self, now: float) -> Eta | None:
        if self._held_since is not None:
            return None
        if self._window.span_s >= self._history.window_s and self._window.seconds > 0:
            self._history.add(self._window)
            self._window = Window(0.0, 0.0, 0.0, 0.0)
            self._paces.fade()
        paces = self._paces.beside_all()
        ages: list[list[float]] = [[] for _ in self._sources]
        beside: list[list[float]] = [[] for _ in self._sources]
        for number, flight in self.in_flight.items():
            place = bisect.bisect_right(self._firsts, number) - 1
            ages[place].append(now - flight.started)
            beside[place].append(paces.get(flight.server, 1.0))
        sources = [
            Source(
                source.extent.name,
                source.sums,
                max(0, source.extent.count - source.done - source.failed - len(age)),
                age,
                pace,
            )
            for source, age, pace in zip(self._sources, ages, beside, strict=True)
        ]
        return estimate(sources, self._history.windows or [self._window], self.slots, self._cap)

    def _mark(self, now: float, eta: Eta | None) -> None:
        if eta is None:
            return
        self._marks.append(Mark(now, now + self._held_s, self._held_s, self.slots, eta))
        while len(self._marks) > 2 and self._marks[1].at <= now - MARK_S:
            self._marks.popleft()


def _counted(tally: SourceTally) -> _SourceCount:
    sums = LengthSums(failed=sum(tally.failed.values()))
    sums.add_summed(tally.done, tally.tokens, tally.squares)
    return _SourceCount(tally.extent, tally.done, sum(tally.failed.values()), sums)


def _tokens_since(recent: Iterable[tuple[float, int]], since: float) -> int:
    return sum(tokens for at, tokens in recent if at >= since)
