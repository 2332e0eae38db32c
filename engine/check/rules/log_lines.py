"""What a server's log says over time."""

import statistics
from collections.abc import Iterator, Sequence

from engine.check.facts.deployment import Facts
from engine.check.records import DecodeLine, Evidence, Fix
from engine.check.rules.registry import Detail, rule

FEWEST_LINES = 12
"""In each of the two parts that are compared: 480 decode steps at the usual interval of 40."""
DROP = 0.2
LIKE_LOAD = 1.5
NOTHING_TO_LOSE = 1.2
CLOSE = 0.011
"""Both figures are rounded to hundredths."""


@rule(
    "live-accept-length-drop",
    "warning",
    "Accept length fell against its own past",
    explanation="At like load the last part of the log has a clearly lower accept length than what came before: other requests, "
    "another adapter, or a server that lost its draft's fit. For watched servers an alert says the same.",
    source="sglang 0.5.23, observability/scheduler_metrics_mixin.py",
)
def live_accept_length_drop(facts: Facts) -> Iterator[Detail]:
    """The last quarter of the log against what came before it, lines of like batch alone."""
    lines = facts.deployment.live.decoded if facts.deployment.live is not None else ()
    late = lines[-max(FEWEST_LINES, len(lines) // 4) :]
    early = _at_like_load(lines[: len(lines) - len(late)], late)
    if min(len(early), len(late)) < FEWEST_LINES:
        return
    before, now = (statistics.median(line.accept_length for line in part) for part in (early, late))
    if before >= NOTHING_TO_LOSE and now < before * (1 - DROP):
        yield Detail(
            f"Accept length was {before:.2f} over {len(early)} lines at like load, and is {now:.2f} over the last {len(late)}.",
            (Evidence(what="log: accept len", expected=f"about {before:.2f}", found=f"{now:.2f}"),),
            Fix(text="compare what is asked now with what was asked before; look for a restart or another adapter"),
        )


@rule(
    "accept-rate-scale",
    "info",
    "What the accept rate of this log means",
    explanation="Up to 0.5.10 the logged rate is accept length / draft tokens, never 0; from 0.5.11 on it is accepted / proposed "
    "draft tokens, 0.00 where none is accepted. Where the release is not known the lines tell which one it is.",
    source="sglang 0.5.10 and 0.5.11, observability/scheduler_metrics_mixin.py",
)
def accept_rate_scale(facts: Facts) -> Iterator[Detail]:
    """A log without a named release whose lines fit one of the two."""
    live, tokens = facts.deployment.live, facts.get("speculative_num_draft_tokens")
    lines = [line for line in (live.decoded if live is not None else ()) if line.accept_rate is not None]
    known = facts.arguments is not None and facts.arguments.release_known
    if known or not lines or not isinstance(tokens, int) or tokens < 2:
        return
    old = sum(_fits(line, line.accept_length / tokens) for line in lines)
    new = sum(_fits(line, (line.accept_length - 1) / (tokens - 1)) for line in lines)
    if old != new:
        scale = (
            "accept length / draft tokens: 0.5.10 or earlier" if old > new else "accepted / proposed: 0.5.11 or later"
        )
        yield Detail(
            f"The lines fit {scale} ({max(old, new)} of {len(lines)} lines, {tokens} draft tokens).",
            (Evidence(what="log: accept rate", found=f"{lines[-1].accept_rate:.2f} at {lines[-1].accept_length:.2f}"),),
        )


def _at_like_load(lines: Sequence[DecodeLine], late: Sequence[DecodeLine]) -> list[DecodeLine]:
    """Lines whose batch is within a factor of the usual one now; all where batches are not told."""
    batches = [line.running for line in late if line.running is not None]
    if not batches:
        return list(lines)
    usual = max(statistics.median(batches), 1)
    return [line for line in lines if line.running and usual / LIKE_LOAD <= line.running <= usual * LIKE_LOAD]


def _fits(line: DecodeLine, rate: float) -> bool:
    return line.accept_rate is not None and abs(line.accept_rate - rate) < CLOSE
