"""Figures of one point under one load, over all its repeats."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from engine.bench.cells import cell_name, read_end, read_gaps, read_records
from engine.bench.client_cost import client_limit
from engine.bench.economics import Estimate
from engine.bench.records import CellEnd, Load, Plan, RequestRecord
from engine.bench.statistics import Spread, ratio_estimate, share_estimates, spread


class Summary(msgspec.Struct, frozen=True, kw_only=True):
    """One row of a comparison, before it is compared. `None` where it cannot be known."""

    point: str
    load: Load
    repeats: int
    requests: int
    failures: dict[str, int]
    first_failure: str = ""
    ended_early: str = ""
    wall_s: float
    completion_tokens: int
    prompt_tokens: int | None
    tokens_per_s: Estimate | None
    """Output tokens of the whole server, over the wall time."""
    tokens_per_s_by_repeat: tuple[float, ...] = ()
    """To see a drift of the machine by."""
    decode_tokens_per_s: Estimate | None
    """Of one stream, from its first token on: what break-even is reckoned with."""
    requests_per_s: float | None
    ttft_s: Spread | None
    itl_s: Spread | None
    tpot_s: Spread | None
    e2e_s: Spread | None
    accept_length: Estimate | None
    """Tokens over verifications, all requests together (sglang, `spec_accept_length`)."""
    accept_rates: tuple[Estimate, ...]
    """Marginal, by position."""
    finish_reasons: dict[str, int]
    counted_by_server: bool
    power_w: float | None = None
    tokens_per_joule: float | None = None
    memory_bytes: int | None = None
    client_cpu_us: float | None = None
    """CPU of the load generator for each request."""
    client_lag_p99_s: float = 0.0
    client_limit: str = ""
    """Why the figures may be the load generator's own; empty where they are the server's."""
    clock_step_s: float = 0.0


def summarise(folder: Path, plan: Plan, point: str, load: Load) -> Summary | None:
    """Read what was measured; `None` where nothing was yet. Memory grows with requests, not tokens."""
    ends, gaps, speeds = [], [], []
    records: list[RequestRecord] = []
    for repeat in range(plan.repeats):
        name = cell_name(point, load, repeat)
        if (end := read_end(folder, name)) is not None:
            ends.append(end)
            own = [msgspec.structs.replace(record, text="") for record in read_records(folder, name)]
            tokens = sum(record.completion_tokens or 0 for record in own if record.failure is None)
            speeds.append(tokens / end.wall_s if end.wall_s > 0 else 0.0)
            records += own
            gaps.append(read_gaps(folder, name))
    if not ends:
        return None
    return msgspec.structs.replace(figures(point, load, ends, records, gaps), tokens_per_s_by_repeat=tuple(speeds))


def figures(
    point: str, load: Load, ends: Sequence[CellEnd], records: Sequence[RequestRecord], gaps: Sequence[Any]
) -> Summary:
    """The figures of some cells of one point and load."""
    import numpy

    good = [record for record in records if record.failure is None and record.completion_tokens and record.e2e_s]
    tokens = [record.completion_tokens or 0 for record in good]
    wall_s = sum(end.wall_s for end in ends)
    ttft = spread([record.ttft_s for record in good])
    decoding = [(count, seconds) for count, seconds in map(_decoding, good) if count > 0 and seconds > 0]
    verified = [(record.completion_tokens or 0, record.verifications) for record in good if record.verifications]
    power_w = _mean([end.power_w for end in ends])
    failed = [record for record in records if record.failure is not None]
    joules = power_w * wall_s if power_w is not None else None
    return Summary(
        point=point,
        load=load,
        repeats=len(ends),
        requests=len(records),
        failures=dict(Counter(str(record.failure) for record in failed)),
        first_failure=failed[0].message if failed else "",
        ended_early="; ".join(sorted({end.ended_early for end in ends if end.ended_early})),
        wall_s=wall_s,
        completion_tokens=sum(tokens),
        prompt_tokens=_sum([record.prompt_tokens for record in good]),
        tokens_per_s=_throughput(good, wall_s),
        decode_tokens_per_s=ratio_estimate([count for count, _ in decoding], [seconds for _, seconds in decoding]),
        requests_per_s=len(good) / wall_s if wall_s > 0 else None,
        ttft_s=ttft,
        itl_s=spread(numpy.concatenate(gaps)) if gaps else None,
        tpot_s=spread([seconds / count for count, seconds in decoding]),
        e2e_s=spread([record.e2e_s for record in good]),
        accept_length=ratio_estimate([count for count, _ in verified], [rounds for _, rounds in verified]),
        accept_rates=share_estimates(_histograms(good)),
        finish_reasons=dict(Counter(record.finish_reason or "unknown" for record in good)),
        counted_by_server=all(record.counted_by_server for record in good),
        power_w=power_w,
        tokens_per_joule=sum(tokens) / joules if joules else None,
        memory_bytes=max((end.memory_bytes for end in ends if end.memory_bytes is not None), default=None),
        client_cpu_us=_cpu_us(ends),
        client_lag_p99_s=max(end.client.loop_lag_p99_s for end in ends),
        client_limit=next(filter(None, (client_limit(end.client, ttft.p50 if ttft else None) for end in ends)), ""),
        clock_step_s=max((end.client.clock_step_s for end in ends), key=abs),
    )


def _throughput(good: Sequence[RequestRecord], wall_s: float) -> Estimate | None:
    """Tokens over wall time; the interval is that of tokens over time in flight, which goes with it (Little's law)."""
    if not good or wall_s <= 0:
        return None
    tokens = sum(record.completion_tokens or 0 for record in good)
    in_flight = ratio_estimate([record.completion_tokens for record in good], [record.e2e_s for record in good])
    value = tokens / wall_s
    if in_flight is None or in_flight.low is None or in_flight.high is None:
        return Estimate(value)
    return Estimate(value, value * in_flight.low / in_flight.value, value * in_flight.high / in_flight.value)


def _decoding(record: RequestRecord) -> tuple[int, float]:
    return (record.completion_tokens or 0) - record.first_tokens, (record.e2e_s or 0.0) - (record.ttft_s or 0.0)


def _histograms(good: Sequence[RequestRecord]) -> list[list[int]]:
    width = max((len(record.histogram) for record in good), default=0)
    return [[*record.histogram, *[0] * (width - len(record.histogram))] for record in good if record.histogram]


def _cpu_us(ends: Sequence[CellEnd]) -> float | None:
    requests = sum(end.client.requests for end in ends)
    return sum(end.client.cpu_s for end in ends) / requests * 1e6 if requests else None


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def _sum(values: Sequence[int | None]) -> int | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None
