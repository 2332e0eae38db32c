"""One gate for all questions to the hub: so many a second, and a pause for everybody when it says that it is too much."""

import threading
import time
from collections.abc import Callable
from typing import Any

LONGEST_PAUSE_S = 600.0


class Gate:
    """Shared by all scouts. A pause that the hub asks of one of them holds for all."""

    def __init__(self, per_second: float, told: Callable[[float], None]) -> None:
        self._lock = threading.Lock()
        self._step_s = 1 / per_second
        self._next = 0.0
        self._told = told
        self.asked = 0
        self.refused = 0

    def wait(self) -> None:
        """Wait for one's turn."""
        with self._lock:
            now = time.monotonic()
            turn = max(now, self._next)
            self._next = turn + self._step_s
            self.asked += 1
        time.sleep(max(0.0, turn - now))

    def pause(self, seconds: float) -> None:
        """Hold every question back for this long."""
        with self._lock:
            self._next = max(self._next, time.monotonic() + min(seconds, LONGEST_PAUSE_S))
            self.refused += 1
        self._told(seconds)


def use_gate(gate: Gate) -> None:
    """Let every request of huggingface_hub pass the gate. Its own client honours Retry-After; this tells the others."""
    import httpx2
    from huggingface_hub.utils import set_client_factory

    def entering(_: Any) -> None:
        gate.wait()

    def answered(response: Any) -> None:
        if response.status_code == 429:
            gate.pause(retry_after_s(response.headers.get("retry-after")))

    def client() -> httpx2.Client:
        return httpx2.Client(
            follow_redirects=True, timeout=30.0, event_hooks={"request": [entering], "response": [answered]}
        )

    set_client_factory(client)


def retry_after_s(text: str | None) -> float:
    """Seconds of a Retry-After header; a few where it names none."""
    try:
        return max(0.0, float(text or "5"))
    except ValueError:
        return 5.0
