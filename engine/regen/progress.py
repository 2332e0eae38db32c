"""Counts what a run does while it runs, and turns the counts into the progress that operators see."""

import time
from collections import deque

from engine.regen.eta import Eta, Service, estimate
from engine.regen.records import Answer, Failure, Tally
from state.records.regeneration import RegenerationProgress

NOW_S = 15.0
"""Window of the speed «now»."""

WINDOW_S = 20.0
WINDOWS = 15
"""Recent windows from which the drift of the server's speed is read."""


class Progress:
    """What one worker has seen. Times are monotonic, so that a step of the clock changes nothing."""

    def __init__(self, tally: Tally, slots: int) -> None:
        self.total = tally.total
        self.slots = slots
        self.done = tally.done
        self.failed = dict(tally.failed)
        self.completion_tokens = tally.completion_tokens
        self.in_flight: dict[int, float] = {}
        """Sample number to when it was started."""
        self._began = time.monotonic()
        self._held_s = 0.0
        self._held_since: float | None = None
        self._tokens_at_start = tally.completion_tokens
        self._recent: deque[tuple[float, int]] = deque()
        self._windows: deque[float] = deque(maxlen=WINDOWS)
        self._window = (time.monotonic(), 0)
        self._finished = 0
        self._seconds = self._squares = 0.0

    def start(self, number: int) -> None:
        """A sample is being asked."""
        self.in_flight[number] = time.monotonic()

    def finish(self, result: Answer | Failure) -> None:
        """A sample has its outcome."""
        self.in_flight.pop(result.number, None)
        if isinstance(result, Failure):
            self.failed[result.kind] = self.failed.get(result.kind, 0) + 1
            return
        self.done += 1
        self.completion_tokens += result.completion_tokens
        self._recent.append((time.monotonic(), result.completion_tokens))
        self._finished += 1
        self._seconds += result.seconds
        self._squares += result.seconds**2

    def hold(self, held: bool) -> None:
        """Whether the run waits for a server that is away: such time counts for no speed."""
        now = time.monotonic()
        if held and self._held_since is None:
            self._held_since = now
        elif not held and self._held_since is not None:
            self._held_s += now - self._held_since
            self._held_since = None
            self._window = (now, self._finished)
            self.in_flight = dict.fromkeys(self.in_flight, now)

    def report(self, run_id: int, wall_time: float) -> RegenerationProgress:
        """The progress at this moment."""
        now = time.monotonic()
        eta = self._eta(now)
        active_s = now - self._began - self._held_s
        made = self.completion_tokens - self._tokens_at_start
        return RegenerationProgress(
            run_id=run_id,
            taken_at=wall_time,
            done=self.done,
            failed=sum(self.failed.values()),
            failed_by_kind=dict(self.failed),
            in_flight=len(self.in_flight),
            completion_tokens=self.completion_tokens,
            tokens_per_s_now=self._speed_now(now),
            tokens_per_s_overall=made / active_s if made and active_s > 0 else None,
            eta_s=eta.median_s if eta else None,
            eta_low_s=eta.low_s if eta else None,
            eta_high_s=eta.high_s if eta else None,
        )

    def _speed_now(self, now: float) -> float | None:
        while self._recent and self._recent[0][0] < now - NOW_S:
            self._recent.popleft()
        span_s = min(NOW_S, now - self._began)
        if self._finished == 0 or span_s <= 0:
            return None
        return sum(tokens for _, tokens in self._recent) / span_s

    def _eta(self, now: float) -> Eta | None:
        if self._held_since is not None:
            return None
        began, finished = self._window
        if now - began >= WINDOW_S:
            self._windows.append((self._finished - finished) / (now - began))
            self._window = (now, self._finished)
        ages = [now - started for started in self.in_flight.values()]
        waiting = self.total - self.done - sum(self.failed.values()) - len(ages)
        service = Service(self._finished, self._seconds, self._squares, ages)
        return estimate(service, max(0, waiting), self.slots, list(self._windows))
