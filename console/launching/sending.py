"""Asks the engine for a launch."""

from typing import Any

import msgspec

from console.launching.looking import Looked
from engine.client import Client


def send(client: Client, looked: Looked, on: str) -> int:
    """Queue it; gives the job's number. For a thread.

    Raises:
        CommandRefused: The engine does not take it.
        EngineUnavailable: There is no engine, and none could be started.
    """
    arguments: dict[str, Any] = msgspec.to_builtins(looked.prepared.launch)
    client.ensure_engine()
    answer = client.ask("jobs.launch", arguments | ({} if on == "local" else {"on": on}))
    return int(answer["job_id"])
