"""In which order samples are asked: spread evenly over all inputs from the first minute on.

Sources that lie one after another, easy before hard, would make every early estimate wrong. Steps of the golden ratio,
taken round the whole run, visit each part of it in proportion at every moment, and are the same after a restart.
"""

import math
from collections.abc import Iterator

_GOLDEN = (math.sqrt(5) - 1) / 2


def spread_order(total: int) -> Iterator[int]:
    """The numbers 1 to `total`, each once."""
    step = _step(total)
    place = 0
    for _ in range(total):
        yield place + 1
        place = (place + step) % total


def _step(total: int) -> int:
    step = max(1, round(total * _GOLDEN))
    while math.gcd(step, total) != 1:
        step += 1
    return step
