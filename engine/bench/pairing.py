"""How much faster one configuration is than another on the same prompts, with an interval."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal

from engine.bench.economics import Estimate
from engine.bench.records import RequestRecord
from engine.bench.statistics import RESAMPLES, SEED

Verdict = Literal["faster", "slower", "tie"]
Cost = Callable[[RequestRecord], tuple[float, float] | None]
"""Tokens of a request and the seconds that they took; `None` where it does not count."""
Table = Mapping[tuple[int, str], tuple[float, float]]
"""(repeat, prompt) to tokens and seconds."""


def whole(record: RequestRecord) -> tuple[float, float] | None:
    """All tokens over the whole time of the request: what a user waits."""
    if record.failure is not None or not record.completion_tokens or not record.e2e_s:
        return None
    return float(record.completion_tokens), record.e2e_s


def decoding(record: RequestRecord) -> tuple[float, float] | None:
    """Tokens after the first ones over the time after these: what break-even is reckoned with."""
    if (found := whole(record)) is None or record.ttft_s is None:
        return None
    tokens, seconds = found[0] - record.first_tokens, found[1] - record.ttft_s
    return (tokens, seconds) if tokens > 0 and seconds > 0 else None


def table(records: Iterable[tuple[int, RequestRecord]], cost: Cost) -> Table:
    """What each prompt took in each repeat."""
    return {(repeat, record.prompt): found for repeat, record in records if (found := cost(record)) is not None}


def paired_ratio(own: Table, other: Table) -> Estimate | None:
    """Speed of `own` over that of `other` on the prompts that both answered; `None` where there is none.

    The 95 % interval comes from resampling prompts and, where there are several, repeats: prompts differ among
    themselves far more than the two configurations do on one prompt, and pairing takes that difference out.
    """
    import numpy

    common = own.keys() & other.keys()
    repeats = sorted({repeat for repeat, _ in common})
    prompts = sorted({prompt for _, prompt in common if all((repeat, prompt) in common for repeat in repeats)})
    if not prompts:
        return None
    parts = [
        numpy.array([[source[repeat, prompt][place] for prompt in prompts] for repeat in repeats])
        for source in (own, other)
        for place in (0, 1)
    ]
    value = float(_ratio(*(part.sum() for part in parts)))
    if len(prompts) < 2:
        return Estimate(value)
    drawn = numpy.random.default_rng(SEED)
    totals = [numpy.empty(RESAMPLES) for _ in parts]
    for number in range(RESAMPLES):
        chosen = numpy.bincount(drawn.integers(0, len(prompts), len(prompts)), minlength=len(prompts))
        rounds = numpy.bincount(drawn.integers(0, len(repeats), len(repeats)), minlength=len(repeats))
        for total, part in zip(totals, parts, strict=True):
            total[number] = rounds @ part @ chosen
    low, high = (float(one) for one in numpy.percentile(_ratio(*totals), (2.5, 97.5)))
    return Estimate(value, low, high)


def verdict(ratio: Estimate) -> Verdict:
    """Whether the interval leaves out equality."""
    if ratio.low is None or ratio.high is None or ratio.low <= 1 <= ratio.high:
        return "tie"
    return "faster" if ratio.low > 1 else "slower"


def _ratio(own_tokens: Any, own_s: Any, other_tokens: Any, other_s: Any) -> Any:
    return (own_tokens / own_s) / (other_tokens / other_s)
