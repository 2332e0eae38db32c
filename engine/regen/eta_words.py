"""Why the finish moved, in words: lengths, speed, an outage, other concurrency."""

import msgspec

from engine.regen.eta import Eta

LEAST_S = 60.0
LEAST_SHARE = 0.02
"""A finish that moved by less than a minute or than this share of the time left has not moved."""


class Mark(msgspec.Struct, frozen=True):
    """An estimate, and when it was made."""

    at: float
    """Monotonic, outages left out."""
    monotonic: float
    held_s: float
    """Time that the run had waited for servers."""
    slots: int
    eta: Eta


def why_moved(before: Mark, now: Mark) -> str:
    """What moved the finish from one estimate to the other; empty where it stands."""
    moved_s = now.monotonic + now.eta.median_s - before.monotonic - before.eta.median_s
    if min(before.eta.tokens_per_s, now.eta.tokens_per_s) <= 0:  # nothing is known yet, or nothing is left
        return ""
    if abs(moved_s) < max(LEAST_S, LEAST_SHARE * now.eta.median_s):
        return ""
    since = span(now.monotonic - before.monotonic)
    said = f"{span(abs(moved_s))} {'later' if moved_s > 0 else 'earlier'} than {since} ago"
    reasons = [(abs(effect_s), text) for effect_s, text in _reasons(before, now) if abs(effect_s) >= LEAST_S / 2]
    told = [text for _, text in sorted(reasons, reverse=True)[:3]]
    return f"{said}: {', '.join(told)}" if told else said


def span(seconds: float) -> str:
    """A span of time in words."""
    minutes = round(seconds / 60)
    if minutes < 1:
        return f"{seconds:.0f} s"
    return f"{minutes} min" if minutes < 120 else f"{minutes // 60} h {minutes % 60:02} min"


def _reasons(before: Mark, now: Mark) -> list[tuple[float, str]]:
    """Effect on the finish in seconds, with the words for it."""
    old, new = before.eta, now.eta
    left = new.tokens_left
    lengths_s = left * (1 - old.mean_tokens / new.mean_tokens) / new.tokens_per_s if new.mean_tokens else 0.0
    speed_s = left * (1 / new.tokens_per_s - 1 / old.tokens_per_s)
    away_s = now.held_s - before.held_s
    slots = f", {before.slots} at once then and {now.slots} now" if before.slots != now.slots else ""
    return [
        (
            lengths_s,
            f"answers are {'longer' if lengths_s > 0 else 'shorter'} than thought, {new.mean_tokens:.0f} tokens in "
            f"place of {old.mean_tokens:.0f} ({_signed(lengths_s)})",
        ),
        (
            speed_s,
            f"the servers are {'slower' if speed_s > 0 else 'faster'}, {new.tokens_per_s:.0f} tok/s in place of "
            f"{old.tokens_per_s:.0f}{slots} ({_signed(speed_s)})",
        ),
        (away_s, f"no server answered for {span(away_s)}"),
        (new.drain_s - old.drain_s, f"the last long answers ({_signed(new.drain_s - old.drain_s)})"),
    ]


def _signed(seconds: float) -> str:
    return f"{'+' if seconds > 0 else '-'}{span(abs(seconds))}"
