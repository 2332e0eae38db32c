"""From a server's metrics to one sample. Names: sglang 0.4.6 to 0.5.23, srt/observability; vllm 0.33.0, v1/metrics."""

from collections import deque
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from engine.watch.histograms import Window, merge_buckets, quantile
from engine.watch.metrics_text import Page, Point, by_name, first_of, read_points
from engine.watch.outliers import mark_outliers
from state.records.servers import ServerRank, ServerSample

_KEPT = (
    "gen_throughput", "num_running_reqs", "num_queue_reqs", "token_usage", "cache_hit_rate", "spec_",
    "generation_tokens_total", "num_requests_total", "time_to_first_token_seconds_bucket",
    "inter_token_latency_seconds_bucket", "num_requests_running", "num_requests_waiting", "kv_cache_usage_perc",
    "gpu_cache_usage_perc", "prefix_cache_queries_total", "prefix_cache_hits_total",
    "time_per_output_token_seconds_bucket",
)  # fmt: skip
_PREFIXES = tuple(f"{framework}:{name}".encode() for framework in ("sglang", "vllm") for name in _KEPT)
ACCEPT_WINDOW_S = 30.0
_RANK_LABELS = ("dp_rank", "engine")
_RANK_GAUGES = (
    "num_running_reqs", "num_queue_reqs", "gen_throughput", "token_usage", "spec_accept_length",
    "num_requests_running", "num_requests_waiting", "kv_cache_usage_perc", "gpu_cache_usage_perc",
)  # fmt: skip


class Counters(msgspec.Struct, frozen=True, kw_only=True):
    """Totals since the server started, to be compared with those of the poll before."""

    clock: float
    generated: float | None
    verifications: float | None
    requests: float | None = None
    """Finished requests (SGLang)."""
    accepted: float | None = None
    """Accepted draft tokens (vLLM)."""
    cache_queries: float | None = None
    cache_hits: float | None = None


class Reader:
    """Reads the metrics of one server, poll after poll."""

    def __init__(self) -> None:
        self._first_token, self._between_tokens = Window(), Window()
        self._before: Counters | None = None
        self._window: deque[Counters] = deque()
        self._accept_length: float | None = None
        self.restarted = False
        """Whether the last poll showed totals that had fallen."""
        self.totals: Counters | None = None

    def read(self, url: str, body: bytes, at: float, clock: float) -> tuple[ServerSample, tuple[ServerRank, ...]]:
        """One sample and its data-parallel ranks (none where there is only one).

        Args:
            url: The server's.
            body: What `/metrics` answered.
            at: UTC seconds.
            clock: Monotonic seconds.
        """
        page = by_name(read_points(body, _PREFIXES))
        totals, before = _counters(page, clock), self._before
        self._before = self.totals = totals
        self.restarted = before is not None and _fell(before.generated, totals.generated)
        if self.restarted:
            before = None
            self._window.clear()
            self._accept_length = None
        ranks = _ranks(url, page, at)
        first = self._first_token.add(clock, merge_buckets(first_of(page, "time_to_first_token_seconds_bucket")))
        between = self._between_tokens.add(
            clock,
            merge_buckets(first_of(page, "inter_token_latency_seconds_bucket", "time_per_output_token_seconds_bucket")),
        )
        length = self._length(totals, ranks)
        sample = ServerSample(
            url=url,
            taken_at=at,
            tokens_per_s=_throughput(ranks, before, totals),
            running_requests=_total([rank.running_requests for rank in ranks]),
            queued_requests=_total([rank.queued_requests for rank in ranks]),
            token_usage=_mean([rank.token_usage for rank in ranks]),
            cache_hit_rate=_cache_hit_rate(page, before, totals),
            accept_length=length,
            accept_rate=accept_rate(length, _first(first_of(page, "spec_num_draft_tokens"))),
            ttft_p50_s=quantile(first, 0.5),
            ttft_p95_s=quantile(first, 0.95),
            itl_p50_s=quantile(between, 0.5),
            itl_p95_s=quantile(between, 0.95),
        )
        return sample, mark_outliers(ranks) if len(ranks) > 1 else ()

    def _length(self, totals: Counters, ranks: Sequence[ServerRank]) -> float | None:
        """Tokens for each verification over the last half minute, held while the server idles.

        Where there are counters the gauge is never used: it holds one log interval, and often reads 1.0 on a server
        that went idle at accept length 1.8 (seen on real SGLang 0.5.17).
        """
        if totals.verifications is None:
            return _mean([rank.accept_length for rank in ranks])
        nothing = Counters(clock=totals.clock, generated=0.0, verifications=0.0, requests=0.0, accepted=0.0)
        while len(self._window) > 1 and self._window[1].clock <= totals.clock - ACCEPT_WINDOW_S:
            self._window.popleft()
        before = self._window[0] if self._window else nothing
        self._accept_length = _exact_accept_length(before, totals) or self._accept_length
        self._window.append(totals)
        return self._accept_length


def accept_rate(length: float | None, draft_tokens: float | None) -> float | None:
    """Accepted over proposed draft tokens, by one rule for all releases: SGLang changed its own in 0.5.11."""
    if length is None or draft_tokens is None or draft_tokens <= 1:
        return None
    return max(0.0, (length - 1) / (draft_tokens - 1))


def _ranks(url: str, page: Page, at: float) -> tuple[ServerRank, ...]:
    ranks: dict[int, dict[str, float]] = {}
    for name in _RANK_GAUGES:
        for point in page.get(name, ()):
            gauges = ranks.setdefault(_rank_of(point), {})
            # Every tensor-parallel rank may report the same figure; they are not to be added up.
            gauges[name] = max(point.value, gauges.get(name, point.value))
    return tuple(_rank(url, rank, ranks[rank], at) for rank in sorted(ranks))


def _rank(url: str, rank: int, gauges: Mapping[str, float], at: float) -> ServerRank:
    def one(*names: str) -> float | None:
        return next((gauges[name] for name in names if name in gauges), None)

    running = one("num_running_reqs", "num_requests_running")
    queued = one("num_queue_reqs", "num_requests_waiting")
    speed = one("gen_throughput")
    return ServerRank(
        url=url,
        rank=rank,
        taken_at=at,
        tokens_per_s=0.0 if speed is not None and running == 0 else speed,
        running_requests=None if running is None else int(running),
        queued_requests=None if queued is None else int(queued),
        token_usage=one("token_usage", "kv_cache_usage_perc", "gpu_cache_usage_perc"),
        accept_length=one("spec_accept_length") or None,
    )


def _counters(page: Page, clock: float) -> Counters:
    def total(*names: str) -> float | None:
        found = first_of(page, *names)
        return sum(point.value for point in found) if found else None

    return Counters(
        clock=clock,
        generated=total("generation_tokens_total"),
        verifications=total("spec_verify_calls_total", "spec_decode_num_drafts_total"),
        requests=total("num_requests_total"),
        accepted=total("spec_decode_num_accepted_tokens_total"),
        cache_queries=total("prefix_cache_queries_total"),
        cache_hits=total("prefix_cache_hits_total"),
    )


def _exact_accept_length(before: Counters, now: Counters) -> float | None:
    """Tokens for each verification between two polls; `None` where none was made, or none of its requests has ended."""
    if not (verifications := _grown(before.verifications, now.verifications)):
        return None
    if accepted := _grown(before.accepted, now.accepted):
        return 1 + accepted / verifications
    if now.accepted is not None:
        return 1.0
    generated = _grown(before.generated, now.generated)
    if not generated:
        return None
    # SGLang counts a request's tokens when it ends; its first token comes from the prefill, not from a verification.
    return max(1.0, (generated - (_grown(before.requests, now.requests) or 0.0)) / verifications)


def _throughput(ranks: Sequence[ServerRank], before: Counters | None, now: Counters) -> float | None:
    gauges = [rank.tokens_per_s for rank in ranks if rank.tokens_per_s is not None]
    if gauges:
        return sum(gauges)
    generated = _grown(before.generated, now.generated) if before else None
    return None if before is None or generated is None else generated / (now.clock - before.clock)


def _cache_hit_rate(page: Page, before: Counters | None, now: Counters) -> float | None:
    gauge = _mean([point.value for point in first_of(page, "cache_hit_rate")])
    if gauge is not None or before is None or not (queries := _grown(before.cache_queries, now.cache_queries)):
        return gauge
    return (_grown(before.cache_hits, now.cache_hits) or 0.0) / queries


def _rank_of(point: Point) -> int:
    label = next((point.labels[name] for name in _RANK_LABELS if name in point.labels), "0")
    return int(label) if label.isdecimal() else 0


def _grown(before: float | None, now: float | None) -> float | None:
    return None if before is None or now is None or now < before else now - before


def _fell(before: float | None, now: float | None) -> bool:
    return before is not None and now is not None and now < before


def _mean(values: Iterable[float | None]) -> float | None:
    present = [value for value in values if value is not None]
    return sum(present) / len(present) if present else None


def _total(values: Iterable[int | None]) -> int | None:
    present = [value for value in values if value is not None]
    return sum(present) if present else None


def _first(points: Sequence[Point]) -> float | None:
    return points[0].value if points else None
