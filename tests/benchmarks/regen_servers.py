"""Simulated servers for the regeneration's ETA: batch-dependent speed, stalls, slow ones, drift, sources in blocks.

All answers in flight on one server grow alike, so a server has one clock, counted in tokens of each answer: an answer
ends when that clock has gone on by its length. Thousands of answers an hour then cost a heap and little else.
"""

import heapq
import math
import random
from collections.abc import Iterable, Iterator

import msgspec

STEP_S = 30.0
"""The speed changes in steps of this."""


class Scene(msgspec.Struct, frozen=True):
    """What one seeded run is like."""

    lengths: tuple[int, ...]
    """Of each sample, in the order of the inputs."""
    extents: tuple[int, ...]
    """Samples of each source."""
    slots: int
    speeds: tuple[float, ...]
    """Of each server, beside the others."""
    swing: float
    lasting_s: float
    stalls_every_s: float
    cap: int


def make_scene(seed: int, samples: int, cap: int = 4096) -> Scene:
    """Log-normal lengths (sigma 0.6 to 1.2), one to six sources in blocks, one to four servers, often a slow one."""
    chance = random.Random(seed)
    sigma = chance.uniform(0.6, 1.2)
    extents = _extents(chance, samples)
    lengths: list[int] = []
    for count in extents:
        log_mean = math.log(chance.uniform(150, 1200)) - sigma * sigma / 2
        lengths += [max(1, min(cap, round(chance.lognormvariate(log_mean, sigma)))) for _ in range(count)]
    servers = chance.randint(1, 4)
    speeds = [1.0] * servers
    if servers > 1 and chance.random() < 0.5:
        speeds[0] = chance.uniform(0.3, 0.7)
    return Scene(
        lengths=tuple(lengths),
        extents=tuple(extents),
        slots=64 * servers,
        speeds=tuple(speeds),
        swing=chance.choice((0.0, 0.05, 0.1)),
        lasting_s=chance.uniform(300, 1800),
        stalls_every_s=chance.choice((math.inf, 14400.0, 3600.0)),
        cap=cap,
    )


def _extents(chance: random.Random, samples: int) -> list[int]:
    cuts = sorted(chance.sample(range(1, samples), chance.randint(0, 5)))
    return [high - low for low, high in zip([0, *cuts], [*cuts, samples], strict=True)]


class Server:
    """One simulated server with its slots: 830 tokens a second at 64 at once, 28 alone."""

    def __init__(self, name: str, speed: float, slots: int, scene: Scene, chance: random.Random) -> None:
        self.name = name
        self.slots = slots
        self.heap: list[tuple[float, int]] = []
        self._speed, self._scene, self._chance = speed, scene, chance
        self._now = self._clock = 0.0
        self._factor, self._wander = 1.0, 0.0
        self._stalled_until = 0.0
        self._next_stall = chance.expovariate(1 / scene.stalls_every_s) if scene.stalls_every_s < math.inf else math.inf

    def begin(self, now: float, number: int, length: int) -> None:
        """Start an answer."""
        self.advance(now)
        heapq.heappush(self.heap, (self._clock + length, number))

    def end(self) -> int:
        """Take away the answer that ends first; its number."""
        return heapq.heappop(self.heap)[1]

    def next_end(self) -> float:
        """When the next answer ends, if the speed stays."""
        rate = self._rate()
        return self._now + (self.heap[0][0] - self._clock) / rate if self.heap and rate > 0 else math.inf

    def advance(self, now: float) -> None:
        """Let time pass."""
        self._clock += (now - self._now) * self._rate()
        self._now = now

    def step(self, now: float) -> None:
        """Let the speed change."""
        self.advance(now)
        keep = math.exp(-STEP_S / self._scene.lasting_s)
        self._wander = keep * self._wander + math.sqrt(1 - keep * keep) * self._chance.gauss(0, self._scene.swing)
        self._factor = math.exp(self._wander)
        if now >= self._next_stall:
            self._stalled_until = now + self._chance.uniform(30, 300)
            self._next_stall = self._stalled_until + self._chance.expovariate(1 / self._scene.stalls_every_s)

    def _rate(self) -> float:
        if self._now < self._stalled_until:
            return 0.0
        return self._speed * self._factor * 1300 / (len(self.heap) + 36)


def play(scene: Scene, seed: int, order: Iterable[int]) -> Iterator[tuple[float, str, int, str]]:
    """Everything that happens: (time, "start" | "finish" | "step", sample number or 0, server)."""
    chance = random.Random(seed + 10**6)
    each = scene.slots // len(scene.speeds)
    servers = [Server(f"server {n}", speed, each, scene, chance) for n, speed in enumerate(scene.speeds)]
    numbers, now, step = iter(order), 0.0, STEP_S
    for server in servers:
        for number in _next(numbers, server.slots):
            server.begin(now, number, scene.lengths[number - 1])
            yield now, "start", number, server.name
    while any(server.heap for server in servers):
        server = min(servers, key=Server.next_end)
        if server.next_end() >= step:
            for one in servers:
                one.step(step)
            now, step = step, step + STEP_S
            yield now, "step", 0, ""
            continue
        now = server.next_end()
        server.advance(now)
        yield now, "finish", server.end(), server.name
        for number in _next(numbers, 1):
            server.begin(now, number, scene.lengths[number - 1])
            yield now, "start", number, server.name


def _next(numbers: Iterator[int], count: int) -> list[int]:
    found = []
    for _, number in zip(range(count), numbers, strict=False):
        found.append(number)
    return found
