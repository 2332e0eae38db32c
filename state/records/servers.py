"""Inference servers that are watched."""

from typing import Literal

import msgspec

ServerHealth = Literal["up", "down", "starting", "unreadable"]


class Server(msgspec.Struct, frozen=True, kw_only=True):
    """A server found on the host or given by URL."""

    url: str
    framework: str | None = None
    """`sglang`, `vllm` or `alula-reference`."""
    version: str | None = None
    model: str | None = None
    draft_model: str | None = None
    speculative_algorithm: str | None = None
    pid: int | None = None
    job_id: int | None = None
    started_at: float | None = None
    found_by: str
    """`process`, `url` or `job`."""
    seen_at: float
    health: ServerHealth
    health_message: str = ""


class ServerSample(msgspec.Struct, frozen=True, kw_only=True):
    """A server's metrics at one moment; merged over its data-parallel ranks."""

    url: str
    taken_at: float
    tokens_per_s: float | None = None
    running_requests: int | None = None
    queued_requests: int | None = None
    token_usage: float | None = None
    """Share of the KV cache in use, 0 to 1."""
    cache_hit_rate: float | None = None
    accept_length: float | None = None
    """Tokens committed per verification, the bonus token counted: 1.0 means that no draft token was accepted."""
    accept_rate: float | None = None
    ttft_p50_s: float | None = None
    ttft_p95_s: float | None = None
    itl_p50_s: float | None = None
    itl_p95_s: float | None = None
