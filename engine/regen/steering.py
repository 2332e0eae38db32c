"""What an operator may change while a run works: servers, concurrency, thresholds. Kept in the run folder."""

import os
from pathlib import Path

import msgspec

from engine.regen.records import FlawKind, Plan

FILE_NAME = "steering.json"
PAUSE_AT: dict[FlawKind, float] = {
    "cut_by_length": 0.5, "repetition": 0.1, "refusal": 0.3, "other_language": 0.3, "echo": 0.05,
}  # fmt: skip
"""Share of a source's answers with a flaw above which a run pauses."""


class ServerEntry(msgspec.Struct, frozen=True, omit_defaults=True):
    """A server that may be asked."""

    url: str
    weight: float = 1.0
    """How many requests it is given beside a server of weight 1."""


class Steering(msgspec.Struct, frozen=True, kw_only=True):
    """The operator's wishes."""

    servers: tuple[ServerEntry, ...]
    concurrency: int | None = None
    """Requests at once, on all servers together; `None`: each server's is found by trying."""
    pause_at: dict[FlawKind, float] = msgspec.field(default_factory=lambda: dict(PAUSE_AT))

    def with_server(self, entry: ServerEntry) -> "Steering":
        """Add a server, or change the weight of one that is there."""
        others = tuple(one for one in self.servers if one.url != entry.url)
        return msgspec.structs.replace(self, servers=(*others, entry))

    def without_server(self, url: str) -> "Steering":
        """Remove a server."""
        return msgspec.structs.replace(self, servers=tuple(one for one in self.servers if one.url != url))


def read_steering(folder: Path, plan: Plan) -> Steering:
    """The wishes for a run; the plan's own where the operator has changed nothing.

    Raises:
        OSError, msgspec.DecodeError: The file cannot be read.
    """
    path = folder / FILE_NAME
    if path.exists():
        return msgspec.json.decode(path.read_bytes(), type=Steering)
    concurrency = plan.concurrency or None
    return Steering(servers=(ServerEntry(plan.server_url),), concurrency=concurrency)


def write_steering(folder: Path, steering: Steering) -> None:
    """Put it in the place of what was wished before, whole or not at all."""
    part = folder / f".{FILE_NAME}.{os.getpid()}"
    part.write_bytes(msgspec.json.format(msgspec.json.encode(steering), indent=2))
    part.replace(folder / FILE_NAME)


def steering_changed_at(folder: Path) -> int:
    """A number that changes when the wishes do."""
    try:
        return (folder / FILE_NAME).stat().st_mtime_ns
    except OSError:
        return 0
