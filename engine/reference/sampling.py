"""Choosing tokens: temperature, top-k, top-p, min-p, and the check of drafted tokens against the target."""

from collections.abc import Sequence

import msgspec
import numpy
from numpy.typing import NDArray

from engine.reference.checkpoint import Floats

SMALLEST_TEMPERATURE = 1e-6
"""Below it SGLang samples greedily (sampling/sampling_params.py, `_SAMPLING_EPS`)."""


class SamplingSettings(msgspec.Struct, frozen=True, kw_only=True):
    """How one request's tokens are chosen and when it ends. Defaults are those of SGLang's `/generate`."""

    max_new_tokens: int = 128
    temperature: float = 1.0
    top_p: float = 1.0
    top_k: int = -1
    """-1 means the whole vocabulary."""
    min_p: float = 0.0
    seed: int | None = None
    stop: tuple[str, ...] = ()
    stop_token_ids: tuple[int, ...] = ()
    ignore_eos: bool = False
    min_new_tokens: int = 0
    keep_stop: bool = False
    """Leave the stop string in the text."""

    @property
    def greedy(self) -> bool:
        """True where the likeliest token is always taken."""
        return self.temperature < SMALLEST_TEMPERATURE or self.top_k == 1


def probabilities(logits: Floats, settings: SamplingSettings) -> NDArray[numpy.float64]:
    """The distribution `[rows, vocabulary]` that tokens are drawn from under `settings`, which must not be greedy.

    Order of the filters as in SGLang's PyTorch backend: top-k, top-p, min-p, each on the tempered distribution.
    """
    scaled = logits.astype(numpy.float64) / settings.temperature
    shares: NDArray[numpy.float64] = numpy.exp(scaled - scaled.max(axis=-1, keepdims=True))
    shares /= shares.sum(axis=-1, keepdims=True)
    if settings.top_k > 0 or settings.top_p < 1.0 or settings.min_p > 0.0:
        shares = _filtered(shares, settings)
        shares /= shares.sum(axis=-1, keepdims=True)
    return shares


def _filtered(shares: NDArray[numpy.float64], settings: SamplingSettings) -> NDArray[numpy.float64]:
    order = numpy.argsort(-shares, axis=-1, kind="stable")
    ranked = numpy.take_along_axis(shares, order, axis=-1)
    before = numpy.cumsum(ranked, axis=-1) - ranked
    drop = before > settings.top_p
    if settings.top_k > 0:
        drop[:, settings.top_k :] = True
    drop |= ranked < settings.min_p * ranked[:, :1]
    filtered = numpy.zeros_like(shares)
    numpy.put_along_axis(filtered, order, numpy.where(drop, 0.0, ranked), axis=-1)
    return filtered


def drawn(shares: NDArray[numpy.float64], random: numpy.random.Generator) -> int:
    """One token of a distribution (which need not sum to one)."""
    sums = numpy.cumsum(shares)
    return min(int(numpy.searchsorted(sums, random.random() * sums[-1], side="right")), len(shares) - 1)


def next_token(logits: Floats, settings: SamplingSettings, random: numpy.random.Generator) -> int:
    """One token from one row of logits."""
    if settings.greedy:
        return int(logits.argmax())
    return drawn(probabilities(logits[None], settings)[0], random)


def committed(
    drafted: Sequence[int], logits: Floats, settings: SamplingSettings, random: numpy.random.Generator
) -> list[int]:
    """The drafted tokens that stand, and one more of the target's own.

    `logits` has a row for each drafted token and one beyond. The draft proposes its likeliest token with certainty
    (top-k 1), so a token stands with the target's probability of it, and on refusal the next is drawn from what is
    left without it: together exactly the target's distribution (speculative/eagle_utils.py, verification against the
    target alone).
    """
    if settings.greedy:
        wanted: list[int] = logits.argmax(axis=-1).tolist()
        kept = next((place for place, token in enumerate(drafted) if token != wanted[place]), len(drafted))
        return wanted[: kept + 1]
    shares = probabilities(logits, settings)
    for place, token in enumerate(drafted):
        if random.random() >= shares[place, token]:
            shares[place, token] = 0.0
            return [*drafted[:place], drawn(shares[place], random)]
    return [*drafted, drawn(shares[-1], random)]
