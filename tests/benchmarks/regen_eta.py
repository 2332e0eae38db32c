"""Error and coverage of the regeneration's ETA on simulated servers, beside a tqdm-style average.

ALULA_ETA_RUNS and ALULA_ETA_SAMPLES make it shorter.
"""

import os
from collections.abc import Callable, Iterable, Iterator
from itertools import accumulate
from statistics import median

import msgspec

from engine.regen.eta import Eta
from engine.regen.order import spread_order
from engine.regen.progress import Progress
from engine.regen.records import Answer, Extent, SourceTally
from tests.benchmarks.regen_servers import Scene, make_scene, play
from tests.benchmarks.results import Result

RUNS = int(os.environ.get("ALULA_ETA_RUNS", "200"))
SIZES = tuple(int(size) for size in os.environ.get("ALULA_ETA_SAMPLES", "8800,83288").split(","))
SHARES = (0.05, 0.25, 0.9)


class Look(msgspec.Struct, frozen=True):
    """What was said when a share of the samples was done, and what was true."""

    left_s: float
    eta: Eta | None
    average_s: float


def run(report: Callable[[str], None]) -> Iterator[Result]:
    """Log-normal lengths, sigma 0.6 to 1.2; sources in blocks; slow servers, stalls, drifting speed."""
    for samples in SIZES:
        spread: list[list[Look]] = []
        blocks: list[list[Look]] = []
        for seed in range(RUNS):
            scene = make_scene(seed, samples)
            spread.append(watch(scene, seed, spread_order(samples)))
            blocks.append(watch(scene, seed, range(1, samples + 1), ours=False))
            if seed % 50 == 49:
                report(f"{samples} samples: {seed + 1} of {RUNS} runs")
        for place, share in enumerate(SHARES):
            yield from _results(samples, share, [one[place] for one in spread], [one[place] for one in blocks])


def _results(samples: int, share: float, spread: list[Look], blocks: list[Look]) -> Iterator[Result]:
    when = f"{samples} samples, after {share:.0%}"
    errors = [_error(look, look.eta.median_s if look.eta else 0.0) for look in spread]
    yield Result("Alula's ETA", f"median error, {when}", 100 * median(errors), "%", 5.0)
    held = sum(bool(look.eta and look.eta.low_s <= look.left_s <= look.eta.high_s) for look in spread)
    yield Result("Alula's 90 % range", f"holds the end, {when}", 100 * held / len(spread), "%")
    widths = [(look.eta.high_s - look.eta.low_s) / look.left_s for look in spread if look.eta]
    yield Result("Alula's 90 % range", f"width, {when}", 100 * median(widths), "%")
    same = median(_error(look, look.average_s) for look in spread)
    yield Result("tqdm-style average, same order", f"median error, {when}", 100 * same, "%")
    given = median(_error(look, look.average_s) for look in blocks)
    yield Result("tqdm-style average, inputs' order", f"median error, {when}", 100 * given, "%")


def _error(look: Look, said_s: float) -> float:
    return abs(said_s - look.left_s) / look.left_s


def watch(scene: Scene, seed: int, order: Iterable[int], *, ours: bool = True) -> list[Look]:
    """Play one run, and ask for the ETA after each share of the samples."""
    now, done, total = 0.0, 0, len(scene.lengths)
    progress = Progress(_tallies(scene), scene.slots, scene.cap, clock=lambda: now)
    asked: list[tuple[float, Eta | None, float]] = []
    for now, what, number, server in play(scene, seed, order):  # the clock above reads it
        if what == "finish":
            done += 1
        if not ours:
            pass
        elif what == "start":
            progress.start(number, server)
        elif what == "finish":
            progress.finish(_answer(number, scene.lengths[number - 1]))
        else:
            progress.look()
        if len(asked) < len(SHARES) and done >= SHARES[len(asked)] * total:
            asked.append((now, progress.look() if ours else None, now / done * (total - done)))
    return [Look(now - at, eta, average_s) for at, eta, average_s in asked]


def _tallies(scene: Scene) -> list[SourceTally]:
    ends = list(accumulate(scene.extents))
    return [
        SourceTally(Extent(f"source {place}", end - count + 1, end))
        for place, (count, end) in enumerate(zip(scene.extents, ends, strict=True))
    ]


def _answer(number: int, tokens: int) -> Answer:
    return Answer(
        number=number, assistants=(), finish_reasons=("stop",), prompt_tokens=0, completion_tokens=tokens, seconds=0.0
    )
