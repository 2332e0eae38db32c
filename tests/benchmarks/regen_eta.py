"""Error and coverage of the regeneration's ETA, beside an average over finished samples, on simulated servers."""

import heapq
import math
import random
from collections.abc import Callable, Iterator
from itertools import product
from statistics import median

from engine.regen.eta import Eta, Service, estimate
from tests.benchmarks.results import Result

RUNS, SAMPLES, SLOTS = 200, 4000, 64
SHARES = (0.05, 0.25, 0.9)
SWINGS = (0.0, 0.05, 0.2)
"""How far the server's speed swings, slowly, about its mean."""


def run(report: Callable[[str], None]) -> Iterator[Result]:
    """Log-normal lengths, sigma 0.6 to 1.2, drifting speed."""
    for share, swing in product(SHARES, SWINGS):
        ours, naive, covered = [], [], 0
        for seed in range(RUNS):
            left, eta, average = simulate(seed, share, swing)
            ours.append(abs(eta.median_s - left) / left if eta else 1.0)
            naive.append(abs(average - left) / left)
            covered += bool(eta and eta.low_s <= left <= eta.high_s)
        when = f"after {share:.0%}, swing {swing:.0%}"
        yield Result("Alula's ETA", f"median error, {when}", 100 * median(ours), "%", 5.0)
        yield Result("average of finished (tqdm)", f"median error, {when}", 100 * median(naive), "%")
        yield Result("Alula's 80 % range", f"holds the end, {when}", 100 * covered / RUNS, "%")


def simulate(seed: int, share: float, swing: float) -> tuple[float, Eta | None, float]:
    """The true time left, Alula's estimate and the average's, once `share` is done."""
    chance = random.Random(seed)
    sigma = chance.uniform(0.6, 1.2)
    lengths = [math.exp(chance.gauss(3.0, sigma)) for _ in range(SAMPLES)]
    running: list[tuple[float, float]] = []
    now, seconds, squares, done = 0.0, 0.0, 0.0, 0
    asked: tuple[float, Eta | None, float] | None = None
    rates: list[float] = []
    window = (0.0, 0)
    for index in range(SAMPLES + SLOTS):
        if len(running) == SLOTS or index >= SAMPLES:
            if not running:
                break
            now, began = heapq.heappop(running)
            done, seconds, squares = done + 1, seconds + now - began, squares + (now - began) ** 2
            if now - window[0] >= 20:
                rates.append((done - window[1]) / (now - window[0]))
                window = (now, done)
            if asked is None and done >= share * SAMPLES:
                service = Service(done, seconds, squares, [now - start for _, start in running])
                asked = (
                    now,
                    estimate(service, max(0, SAMPLES - index), SLOTS, rates[-15:]),
                    now / done * (SAMPLES - done),
                )
        if index < SAMPLES:
            speed = 1.0 + swing * math.sin(now / 400 + seed)
            heapq.heappush(running, (now + lengths[index] / speed, now))
    assert asked is not None
    return now - asked[0], asked[1], asked[2]
