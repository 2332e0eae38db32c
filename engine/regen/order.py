"""In which order samples are asked: spread evenly over all inputs from the first minute on.

Sources that lie one after another, easy before hard, would make every early estimate wrong. Steps of the golden ratio,
taken round the whole run, visit each part of it in proportion at every moment, and are the same after a restart.
"""

import math
from collections.abc import Iterator

_GOLDEN = (math.sqrt(5) - 1) / 2
_TRIED = 40


def spread_order(total: int) -> Iterator[int]:
    """The numbers 1 to `total`, each once."""
    step = _step(total)
    place = 0
    for _ in range(total):
        yield place + 1
        place = (place + step) % total


def _step(total: int) -> int:
    """Near the golden ratio, without a common factor, and with the smallest continued fraction: that spreads best."""
    near = round(total * _GOLDEN)
    steps = [step for step in range(max(1, near - _TRIED), near + _TRIED + 1) if math.gcd(step, total) == 1]
    return min(steps, key=lambda step: (_largest_quotient(step, total), abs(step - near)))


def _largest_quotient(step: int, total: int) -> int:
    largest = 0
    while step:
        largest, total, step = max(largest, total // step), step, total % step
    return largest
