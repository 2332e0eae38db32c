"""One gate for all questions to the hub: so many a second, pauses for everybody, an end when it is gone."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import httpx2

LONGEST_PAUSE_S = 600.0
GONE_AFTER = 6
"""Questions in a row, of all scouts together, that nobody answered."""

LARGEST_ANSWER = 64 << 20
"""Bytes, unpacked. The longest list that is asked for has some hundred kilobytes."""
LONGEST_ANSWER = 5
"""Times the timeout of one read: so long may an answer take in all."""

_NO_QUESTION = "/api/agent-harnesses"
"""huggingface_hub 2.4.0 asks this once a day and does without an answer (utils/_detect_agent.py): it gets none."""
_FRAMING = ("content-encoding", "content-length", "transfer-encoding")
_BUSY = (500, 502, 503, 504)


class HubGone(Exception):
    """The hub does not answer, or refuses again and again."""


class Gate:
    """Shared by all scouts. A pause that the hub asks of one of them holds for all."""

    def __init__(
        self,
        per_second: float,
        *,
        timeout_s: float = 20.0,
        tries: int = 3,
        told: Callable[[float], None] = lambda _: None,
        stopped: threading.Event | None = None,
    ) -> None:
        """Make a gate.

        Args:
            per_second: Questions a second, of all scouts together.
            timeout_s: Given up on a question after so long.
            tries: Of a question that gets a refusal (429), a fault of the hub (5xx) or no answer.
            told: Told the seconds of each pause.
            stopped: Ends all waiting once it is set.
        """
        self.timeout_s = timeout_s
        self.tries = tries
        self.asked = 0
        self.refused = 0
        self._lock = threading.Lock()
        self._step_s = 1 / per_second
        self._next = 0.0
        self._unanswered = 0
        self._told = told
        self._stopped = stopped or threading.Event()

    def wait(self) -> None:
        """Wait for one's turn.

        Raises:
            HubGone: Nobody answers, or the search is stopped.
        """
        while True:
            with self._lock:
                if self._unanswered >= GONE_AFTER:
                    raise HubGone(f"the hub did not answer {GONE_AFTER} times in a row")
                now = time.monotonic()
                if now >= self._next:
                    self._next = now + self._step_s
                    self.asked += 1
                    return
                turn = self._next
            if self._stopped.wait(turn - now):
                raise HubGone("the search is stopped")

    def pause(self, seconds: float) -> None:
        """Hold every question back for this long."""
        held = min(seconds, LONGEST_PAUSE_S)
        with self._lock:
            self._next = max(self._next, time.monotonic() + held)
            self.refused += 1
        self._told(held)

    def answered(self, *, well: bool) -> None:
        """Whether somebody answered a question."""
        with self._lock:
            self._unanswered = 0 if well else self._unanswered + 1


@contextmanager
def gated(gate: Gate) -> Iterator[None]:
    """Let every request of huggingface_hub pass the gate until the block ends."""
    import httpx2
    from huggingface_hub import close_session, set_client_factory

    set_client_factory(lambda: _client(gate))
    try:
        yield
    finally:
        set_client_factory(lambda: httpx2.Client(follow_redirects=True, timeout=None))
        close_session()


def _client(gate: Gate) -> "httpx2.Client":
    """A client whose every request waits, and is tried again where that can help.

    huggingface_hub 2.4.0 tries lists again by itself and single sets not at all; here all is tried alike, and what
    comes of it is final: `HubGone` is none of the errors that it tries again on.
    """
    import httpx2

    class GatedClient(httpx2.Client):
        def send(self, request: httpx2.Request, **settings: Any) -> httpx2.Response:
            if request.url.path == _NO_QUESTION:
                return httpx2.Response(404, request=request)
            limit_s, settings = gate.timeout_s * LONGEST_ANSWER, {**settings, "stream": True}
            why = ""
            for _ in range(gate.tries):
                gate.wait()
                try:
                    response = _whole(super().send(request, **settings), limit_s)
                except httpx2.TransportError as error:
                    gate.answered(well=False)
                    why = f"{type(error).__name__}: {error}"
                    continue
                # The viewer says 500 with a code of its own where it cannot show a set: that is an answer.
                busy = response.status_code in _BUSY and "x-error-code" not in response.headers
                gate.answered(well=not busy)
                if response.status_code != 429 and not busy:
                    return response
                why = f"it answers {response.status_code}"
                if response.status_code == 429:
                    gate.pause(retry_after_s(response.headers.get("retry-after")))
                response.close()
            raise HubGone(f"{request.url.host} cannot be asked: {why}")

    return GatedClient(follow_redirects=True, timeout=gate.timeout_s)


def _whole(response: "httpx2.Response", limit_s: float) -> "httpx2.Response":
    """The same answer, read to its end; a hub without end, or a mirror that is none, must not fill the memory."""
    import httpx2

    body, deadline = bytearray(), time.monotonic() + limit_s
    try:
        for piece in response.iter_bytes():
            body += piece
            if len(body) > LARGEST_ANSWER or time.monotonic() > deadline:
                raise httpx2.ReadError("the answer has no end", request=response.request)
    except httpx2.DecodingError as error:
        raise httpx2.ReadError(str(error), request=response.request) from error
    finally:
        response.close()
    plain = [item for item in response.headers.multi_items() if item[0] not in _FRAMING]
    return httpx2.Response(response.status_code, headers=plain, content=bytes(body), request=response.request)


def retry_after_s(text: str | None) -> float:
    """Seconds of a Retry-After header; a few where it names none."""
    try:
        return max(0.0, float(text or "5"))
    except ValueError:
        return 5.0
