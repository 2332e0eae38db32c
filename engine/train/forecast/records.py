"""What a forecast is made from and what it says."""

from typing import Literal

import msgspec

Law = Literal["log-linear", "saturating"]


class CannotForecast(Exception):
    """The points do not carry a forecast. `remedy` says what to do."""

    def __init__(self, message: str, remedy: str) -> None:
        super().__init__(message)
        self.remedy = remedy


class DataPoint(msgspec.Struct, frozen=True, kw_only=True):
    """One training that was measured. All points of a forecast share held-out set, draft shape, target and server."""

    samples: float
    """Training samples, or tokens: the same for all points."""
    accept_length: float
    """Tokens a verification, the bonus token counted."""
    low: float | None = None
    """Ends of its 95 % interval; without them 1 % is taken for a standard error."""
    high: float | None = None
    label: str = ""
    """What it was measured on, to trace it by."""


class Costs(msgspec.Struct, frozen=True, kw_only=True):
    """What the speed of serving and of regeneration say. `None` where it was not measured."""

    break_even: float | None = None
    """Accept length from which on speculation pays: the cost of a round in baseline steps."""
    break_even_error: float = 0.0
    """Relative standard error of it."""
    samples_per_hour: float | None = None
    """Answers that regeneration gives in an hour."""


class Span(msgspec.Struct, frozen=True):
    """A figure and its 80 % range. `None` at an end: beyond what these points can tell."""

    value: float | None
    low: float | None
    high: float | None


class Fitted(msgspec.Struct, frozen=True, kw_only=True):
    """One law, as it lies through the points."""

    law: Law
    formula: str
    error: float | None
    """Root mean square of what it missed on points that it was not shown; `None` with too few points to hold out."""
    levels_off_at: float | None
    """Accept length that no amount of data passes, by this law."""


class AtSamples(msgspec.Struct, frozen=True, kw_only=True):
    """What an amount of data will give."""

    samples: float
    accept_length: Span
    speedup: Span | None
    """Over the baseline; `None` where break-even was not measured."""
    chance_to_pay: float | None
    hours: float | None
    """To regenerate what is not there yet."""


class Needed(msgspec.Struct, frozen=True, kw_only=True):
    """How much data an accept length takes."""

    goal: str
    """`break even`, `1.5x`, `accept length 3.00`."""
    accept_length: float
    samples: Span
    chance: float
    """Share of the fits in which it is reached within the reach of the points."""
    hours: Span | None
    verdict: str


class Forecast(msgspec.Struct, frozen=True, kw_only=True):
    """What measured points say of more data."""

    points: tuple[DataPoint, ...]
    law: Law
    """The one that missed less on points held out."""
    reason: str
    """Why that one."""
    fits: tuple[Fitted, ...]
    reach: float
    """The largest amount that these points can speak of."""
    at: tuple[AtSamples, ...]
    needed: tuple[Needed, ...]
    cautions: tuple[str, ...] = ()
