"""Inference servers that are watched."""

from typing import Any, Literal

import msgspec

ServerHealth = Literal["up", "down", "starting", "unreadable"]
ServerEventKind = Literal["found", "up", "down", "restarted", "changed"]


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
    """When it last answered; when it was found, if it never did."""
    health: ServerHealth
    health_message: str = ""
    flags: dict[str, Any] = {}
    """What the server says of its own settings, as far as these matter to speed and speculation."""
    metrics_enabled: bool | None = None
    """False where the server answers but has no `/metrics`."""


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


class ServerRank(msgspec.Struct, frozen=True, kw_only=True):
    """One data-parallel rank of a server, now."""

    url: str
    rank: int
    taken_at: float
    tokens_per_s: float | None = None
    running_requests: int | None = None
    queued_requests: int | None = None
    token_usage: float | None = None
    accept_length: float | None = None
    outlier: str | None = None
    """What sets this rank apart from the others, in words; `None` for a rank like the rest."""


class ServerEvent(msgspec.Struct, frozen=True, kw_only=True):
    """Something that happened to a server."""

    id: int = 0
    url: str
    at: float
    kind: ServerEventKind
    message: str
