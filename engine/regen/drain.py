"""How long the end of a run lasts: nothing is left to start, and the last answers finish one after another."""

import math
from collections import Counter
from collections.abc import Sequence

from engine.regen.lengths import Lengths

FASTER_ALONE = (0.4, 0.25, 0.1)
"""An answer's speed grows as the batch shrinks, with about this power of it: at best, as expected, at worst."""

Drain = tuple[float, float, float]
"""Low, median and high time from when the last sample starts until the last answer has ended."""

_LEVELS = (0.05, 0.5, 0.95)
_STEPS = 48


def drain_steady(lengths: Lengths, paces: Sequence[float], each: float, left: int) -> Drain:
    """After a time of steady work, when `left` answers are in flight.

    Args:
        lengths: Of the answers.
        paces: Speed of each server in use beside all together, one entry for each answer in flight now.
        each: Tokens a second of one answer.
        left: Answers in flight when the last one starts.
    """
    shares = [(pace, count / len(paces)) for pace, count in Counter(paces).items()]
    depths = _depths(lengths, min(paces))
    alive, none_alive = [], []
    for depth in depths:
        beyond = [(share, lengths.residual_beyond(depth * pace)) for pace, share in shares]
        alive.append(left * sum(share * chance for share, chance in beyond))
        none_alive.append(math.prod((1 - chance) ** (left * share) for share, chance in beyond))
    return _three(depths, alive, none_alive, each, len(shares))


def drain_known(
    known: Sequence[tuple[Lengths, Sequence[tuple[float, float]]]], each: float, everything: Lengths
) -> Drain:
    """When all that is left is in flight: of each source the lengths, and each answer's tokens by now and pace."""
    paces = {pace for _, flights in known for _, pace in flights} or {1.0}
    depths = _depths(everything, min(paces))
    survival = [_still(lengths, tokens, pace, depths) for lengths, flights in known for tokens, pace in flights]
    alive = [sum(one[step] for one in survival) for step in range(len(depths))]
    none_alive = [math.prod(1 - one[step] for one in survival) for step in range(len(depths))]
    return _three(depths, alive, none_alive, each, len(paces))


def _depths(lengths: Lengths, slowest: float) -> list[float]:
    """Tokens that an answer of average pace makes: from none to more than any answer has to come."""
    top = min(lengths.cap, math.exp(lengths.log_mean + 6 * lengths.log_sigma)) / max(0.05, slowest)
    return [top * (step / _STEPS) ** 2 for step in range(_STEPS + 1)]


def _still(lengths: Lengths, tokens: float, pace: float, depths: Sequence[float]) -> list[float]:
    """Chance that an answer which has `tokens` now goes on for longer than each of these depths."""
    now = lengths.beyond(tokens)
    if now < 1e-9:
        return [1.0, *[0.0] * (len(depths) - 1)]
    return [min(1.0, lengths.beyond(tokens + depth * pace) / now) for depth in depths]


def _three(
    depths: Sequence[float], alive: Sequence[float], none_alive: Sequence[float], each: float, servers: int
) -> Drain:
    low, median, high = (
        _time_to(depths, alive, none_alive, each, servers, level, power)
        for level, power in zip(_LEVELS, FASTER_ALONE, strict=True)
    )
    return min(low, median), median, max(median, high)


def _time_to(
    depths: Sequence[float],
    alive: Sequence[float],
    none_alive: Sequence[float],
    each: float,
    servers: int,
    level: float,
    power: float,
) -> float:
    """Time until no answer is left with the chance `level`; the fewer a server has left, the faster each goes."""
    taken = 0.0
    for step in range(1, len(depths)):
        share = 1.0
        if none_alive[step] >= level:
            grown = none_alive[step] - none_alive[step - 1]
            share = (level - none_alive[step - 1]) / grown if grown > 0 else 1.0
        speed = each * max(1.0, alive[0] / max(float(servers), alive[step])) ** power
        taken += max(0.0, share) * (depths[step] - depths[step - 1]) / speed
        if none_alive[step] >= level:
            break
    return taken
