"""Alerts: few and true, each with cause, since when, and what to do."""

from typing import Literal

import msgspec

Severity = Literal["error", "warning", "info"]


class Alert(msgspec.Struct, frozen=True, kw_only=True):
    """One condition on one subject, from when it began until it cleared."""

    id: int = 0
    rule: str
    """Stable identifier of the kind of alert, for example `server-accept-length-one`."""
    subject: str
    """What it is about: `gpu 3`, `server http://127.0.0.1:30000`, `engine part gpus`."""
    severity: Severity
    title: str
    cause: str
    remedy: str
    since: float
    last_seen_at: float
    cleared_at: float | None = None
    acknowledged_at: float | None = None
