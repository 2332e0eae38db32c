"""Accept length and the acceptance of one drafted token, where each of them is accepted with the same chance.

tau = 1 + a + a^2 + ... + a^K for K drafted tokens (Leviathan et al., arXiv 2211.17192). Training lifts `a`; the sum
bends what `a` would do smoothly, and `a` cannot pass 1, so a law that levels off is fitted to `a` where K is known.
"""

import numpy
from numpy.typing import NDArray

Array = NDArray[numpy.float64]
Mask = NDArray[numpy.bool_]
HALVINGS = 50


def accept_length(acceptance: Array, steps: int) -> Array:
    """Of chains of `steps` drafted tokens."""
    total = numpy.ones_like(acceptance)
    for _ in range(steps):
        total = 1 + acceptance * total
    return total


def acceptance(length: Array, steps: int) -> Array:
    """The inverse; lengths outside 1 to `steps` + 1 give 0 and 1."""
    low, high = numpy.zeros_like(length), numpy.ones_like(length)
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        short = accept_length(middle, steps) < length
        low, high = numpy.where(short, middle, low), numpy.where(short, high, middle)
    return (low + high) / 2
