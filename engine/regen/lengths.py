"""How long answers are: what the finished tell, and what the ones still in flight tell too.

Answers that finish first are the short ones, so the mean of the finished is too small, most of all at the start. Here
each answer in flight counts as well, at the length to be expected of one that is already so long (log-normal, fitted to
both by expectation and maximisation).
"""

import math
from collections.abc import Sequence

import msgspec

FEWEST_DONE = 5
_ROUNDS = 8


class LengthSums(msgspec.Struct):
    """Sums over the finished answers of one source, in tokens. Failed samples count as answers of no length."""

    count: int = 0
    failed: int = 0
    tokens: float = 0.0
    squares: float = 0.0
    logs: float = 0.0
    log_squares: float = 0.0

    def add(self, tokens: int) -> None:
        """Count one answer."""
        log = math.log(max(1, tokens))
        self.count += 1
        self.tokens += tokens
        self.squares += tokens * tokens
        self.logs += log
        self.log_squares += log * log

    def add_summed(self, count: int, tokens: float, squares: float) -> None:
        """Count answers of an earlier worker, of which only sums are kept; their logarithms follow from these."""
        if count == 0 or tokens <= 0:
            return
        mean = tokens / count
        spread = math.log1p(max(0.0, squares / count / mean**2 - 1))
        log_mean = math.log(mean) - spread / 2
        self.count += count
        self.tokens += tokens
        self.squares += squares
        self.logs += count * log_mean
        self.log_squares += count * (spread + log_mean**2)


def together(many: Sequence[LengthSums]) -> LengthSums:
    """The sums over several sources."""
    return LengthSums(
        *(sum(getattr(one, name) for one in many) for name in LengthSums.__struct_fields__),
    )


class Lengths(msgspec.Struct, frozen=True):
    """The distribution of answers' lengths, in tokens: log-normal, cut at `cap`."""

    log_mean: float
    log_sigma: float
    cap: float
    mean: float
    """Of all that were started; not the log-normal's own, which would trust the shape too far."""
    deviation: float
    known: int
    """How many answers it rests on."""

    def beyond(self, tokens: float) -> float:
        """Share of answers longer than this."""
        return 0.0 if tokens >= self.cap else _normal((self.log_mean - _log(tokens)) / self.log_sigma)

    def expected(self, at_least: float) -> float:
        """Mean length of the answers longer than `at_least`."""
        beyond = _normal((self.log_mean - _log(at_least)) / self.log_sigma)
        if beyond < 1e-9 or at_least >= self.cap:
            return min(self.cap, at_least * 1.2 + 1)
        return max(at_least, min(self.cap, self._between(at_least) / beyond))

    def residual_beyond(self, tokens: float) -> float:
        """Share of answers in flight, at a moment of steady work, that have more than this still to come.

        A slot is more likely to be inside a long answer than a short one (equilibrium distribution of renewal theory).
        """
        if tokens >= self.cap:
            return 0.0
        to_come = self._between(tokens) - tokens * _normal((self.log_mean - _log(tokens)) / self.log_sigma)
        return max(0.0, min(1.0, to_come / self._between(1e-9)))

    def _between(self, at_least: float) -> float:
        """Mean of the capped length over all answers, counting only those longer than `at_least`."""
        whole = math.exp(self.log_mean + self.log_sigma**2 / 2)
        low = _normal(self.log_sigma + (self.log_mean - _log(at_least)) / self.log_sigma)
        high = _normal(self.log_sigma + (self.log_mean - _log(self.cap)) / self.log_sigma)
        above = _normal((self.log_mean - _log(self.cap)) / self.log_sigma)
        return whole * max(0.0, low - high) + self.cap * above


def fit(sums: LengthSums, in_flight: Sequence[float], cap: float) -> Lengths | None:
    """The lengths of one source, from the finished and from how many tokens those in flight have by now.

    Returns `None` while fewer than `FEWEST_DONE` have finished.
    """
    if sums.count < FEWEST_DONE:
        return None
    ages = _thinned([_log(age) for age in in_flight])
    weight = len(in_flight) / len(ages) if ages else 0.0
    log_mean = sums.logs / sums.count
    sigma = math.sqrt(max(0.0025, sums.log_squares / sums.count - log_mean**2))
    total = sums.count + len(in_flight)
    for _ in range(_ROUNDS if ages else 0):
        logs, squares = sums.logs, sums.log_squares
        for age in ages:
            first, second = _above(age, log_mean, sigma)
            logs, squares = logs + weight * first, squares + weight * second
        log_mean = logs / total
        sigma = math.sqrt(max(0.0025, squares / total - log_mean**2))
    shape = Lengths(log_mean, sigma, cap, 0.0, 0.0, total)
    mean = (sums.tokens + weight * sum(shape.expected(math.exp(age)) for age in ages)) / total
    return msgspec.structs.replace(shape, mean=mean, deviation=_deviation(sums, mean, sigma, cap))


def _deviation(sums: LengthSums, mean: float, sigma: float, cap: float) -> float:
    """The larger of the seen and the log-normal's: few answers of a long tail show too little of it."""
    seen = max(0.0, sums.squares / sums.count - (sums.tokens / sums.count) ** 2)
    shaped = mean**2 * math.expm1(min(4.0, sigma**2))
    return math.sqrt(max(seen, min(shaped, max(0.0, cap - mean) * mean)))


def _above(log_age: float, log_mean: float, sigma: float) -> tuple[float, float]:
    """First and second moment of the logarithm of a length that is beyond `log_age`."""
    place = (log_age - log_mean) / sigma
    if place > 6:
        return log_age + sigma / place, (log_age + sigma / place) ** 2
    hazard = math.exp(-place * place / 2) / math.sqrt(2 * math.pi) / max(1e-12, _normal(-place))
    first = log_mean + sigma * hazard
    return first, log_mean**2 + sigma**2 + sigma * hazard * (log_age + log_mean)


def _thinned(values: list[float], most: int = 64) -> list[float]:
    """Evenly chosen values of the sorted ones: hundreds in flight cost no more than `most`."""
    ordered = sorted(values)
    if len(ordered) <= most:
        return ordered
    return [ordered[int((place + 0.5) * len(ordered) / most)] for place in range(most)]


def _log(tokens: float) -> float:
    return math.log(max(1e-9, tokens))


def _normal(value: float) -> float:
    return math.erfc(-value / math.sqrt(2)) / 2
