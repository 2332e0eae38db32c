"""How fast each server is beside the others: of servers in one run the slowest decides when it ends."""

import msgspec

FADES_BY = 0.95
"""What is left of an observation's weight after each window of the speed history."""
KNOWN_AFTER_S = 60.0
"""A server's own speed counts as much as the others' once its answers took so long together."""


class _Pace(msgspec.Struct):
    tokens: float = 0.0
    seconds: float = 0.0


class Paces:
    """Tokens and time of finished answers, server by server, the older the lighter."""

    def __init__(self) -> None:
        self._servers: dict[str, _Pace] = {}

    def add(self, server: str, tokens: float, seconds: float) -> None:
        """Count one answer."""
        pace = self._servers.setdefault(server, _Pace())
        pace.tokens += tokens
        pace.seconds += seconds

    def fade(self) -> None:
        """A window has passed."""
        for pace in self._servers.values():
            pace.tokens *= FADES_BY
            pace.seconds *= FADES_BY

    def beside_all(self) -> dict[str, float]:
        """Each server's speed beside that of all together; drawn towards 1 while little is known of it."""
        tokens = sum(pace.tokens for pace in self._servers.values())
        seconds = sum(pace.seconds for pace in self._servers.values())
        if tokens <= 0 or seconds <= 0:
            return {}
        each = tokens / seconds
        return {
            server: max(0.05, (pace.tokens + KNOWN_AFTER_S * each) / (pace.seconds + KNOWN_AFTER_S) / each)
            for server, pace in self._servers.items()
        }
