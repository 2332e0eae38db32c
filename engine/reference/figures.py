"""Metrics under SGLang's names and labels (sglang 0.5.23, observability/metrics_collector.py), and lifetime means."""

import time

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, disable_created_metrics, generate_latest

from engine.reference.requests import Request

FIRST_TOKEN_BUCKETS = (0.1, 0.2, 0.4, 0.6, 0.8, 1, 2, 4, 6, 8, 10, 20, 40, 60, 80, 100, 200, 400)
END_TO_END_BUCKETS = (*FIRST_TOKEN_BUCKETS, 600, 1200, 1800, 2400)
BETWEEN_TOKENS_BUCKETS = (
    *(0.002, 0.004, 0.006, 0.008, 0.01, 0.015, 0.02, 0.025, 0.03, 0.035, 0.04, 0.06, 0.08),
    *(0.1, 0.2, 0.4, 0.6, 0.8, 1, 2, 4, 6, 8),
)
QUEUE_BUCKETS = (0.0, 0.001, 0.005, 0.01, 0.05, 0.1, 0.2, 0.5, 1, 2, 3, 4, 5, 10, 15, 20, 30, 60, 100, 200, 500, 1000)
GAUGES = {
    "num_running_reqs": "The number of running requests.",
    "num_queue_reqs": "The number of requests in the waiting queue.",
    "num_used_tokens": "The number of used tokens.",
    "token_usage": "The token usage.",
    "gen_throughput": "The generation throughput (token/s).",
    "cache_hit_rate": "The prefix cache hit rate.",
    "utilization": "The utilization.",
    "max_total_num_tokens": "Maximum total number of tokens in the KV cache pool.",
    "context_len": "Maximum context length.",
    "page_size": "KV cache page size in tokens.",
    "is_cuda_graph": "Whether the batch is using CUDA graph.",
    "num_retracted_reqs": "The number of retracted requests.",
    "spec_accept_length": "Mean acceptance length of speculative decoding (accepted drafts + bonus token per forward).",
    "spec_accept_rate": "Speculative acceptance rate (accepted drafts / proposed drafts in batch).",
    "spec_num_steps": "Currently active speculative_num_steps.",
    "spec_num_draft_tokens": "Currently active speculative_num_draft_tokens.",
}


class Figures:
    """Everything that `/metrics` and `/server_info` count. The inference thread writes, the HTTP side reads."""

    def __init__(self, model_name: str) -> None:
        disable_created_metrics()  # type: ignore[no-untyped-call]
        self._registry = CollectorRegistry()
        base = {"engine_type": "unified", "model_name": model_name}
        rank = base | {"moe_ep_rank": "0", "pp_rank": "0", "tp_rank": "0"}
        self._base = base
        self._gauges = {
            name: Gauge(f"sglang:{name}", text, list(rank), registry=self._registry).labels(**rank)
            for name, text in GAUGES.items()
        }
        stream = [*base, "is_streaming"]
        self._first_token = self._histogram("time_to_first_token_seconds", FIRST_TOKEN_BUCKETS, stream)
        self._end_to_end = self._histogram("e2e_request_latency_seconds", END_TO_END_BUCKETS, stream)
        self._between_tokens = self._histogram("inter_token_latency_seconds", BETWEEN_TOKENS_BUCKETS, [*base])
        self._queue = self._histogram("queue_time_seconds", QUEUE_BUCKETS, [*base])
        self._prompt_tokens = self._counter("prompt_tokens", "Number of prefill tokens processed.", stream)
        self._generated = self._counter("generation_tokens", "Number of generation tokens processed.", stream)
        self._requests = self._counter("num_requests", "Number of requests processed.", stream)
        self._aborted = self._counter("num_aborted_requests", "Number of requests aborted.", [*base])
        self._verify_calls = self._counter("spec_verify_calls", "Number of speculative verification calls.", [*base])
        self.clear()

    def clear(self) -> None:
        """Forget the lifetime averages, as SGLang's `/flush_cache` does; counters stay."""
        self.verifications = 0
        self.accepted_drafts = 0
        self.last_throughput = 0.0

    def set(self, **values: float) -> None:
        """Set gauges by the name they have without the prefix."""
        for name, value in values.items():
            self._gauges[name].set(value)

    def add_verifications(self, verifications: int, accepted_drafts: int) -> None:
        """Count one speculative step over a batch."""
        self.verifications += verifications
        self.accepted_drafts += accepted_drafts

    @property
    def average_accept_length(self) -> float | None:
        """Tokens a verification over the server's life; `None` before the first."""
        return None if not self.verifications else 1 + self.accepted_drafts / self.verifications

    def add_tokens(self, count: int, since: float) -> None:
        """Count `count` new tokens of a request, which came together now; those before them came at `since`."""
        share = (time.perf_counter() - since) / count
        for _ in range(count):
            self._between_tokens.labels(**self._base).observe(share)

    def add_first_token(self, request: Request) -> None:
        """Count a request's time in the queue and to its first token."""
        line = request.timeline
        if line.admitted is not None and line.first_token is not None:
            self._queue.labels(**self._base).observe(line.admitted - line.received)
            self._first_token.labels(**self._labels(request)).observe(line.first_token - line.received)

    def add_finished(self, request: Request) -> None:
        """Count a request that ended, however it did."""
        if request.aborted:
            self._aborted.labels(**self._base).inc()
            return
        labels = self._labels(request)
        self._requests.labels(**labels).inc()
        self._prompt_tokens.labels(**labels).inc(len(request.prompt))
        self._generated.labels(**labels).inc(len(request.tokens))
        if request.verifications:
            self._verify_calls.labels(**self._base).inc(request.verifications)
        if request.timeline.finished is not None:
            self._end_to_end.labels(**labels).observe(request.timeline.finished - request.timeline.received)

    def text(self) -> bytes:
        """The Prometheus text format."""
        return generate_latest(self._registry)

    def _labels(self, request: Request) -> dict[str, str]:
        return self._base | {"is_streaming": str(request.streaming).lower()}

    def _histogram(self, name: str, buckets: tuple[float, ...], labels: list[str]) -> Histogram:
        text = f"Histogram of {name.removesuffix('_seconds').replace('_', ' ')} in seconds."
        return Histogram(f"sglang:{name}", text, labels, buckets=buckets, registry=self._registry)

    def _counter(self, name: str, text: str, labels: list[str]) -> Counter:
        return Counter(f"sglang:{name}", text, labels, registry=self._registry)
