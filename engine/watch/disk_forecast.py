"""When a disk will be full at the present rate."""

from collections import deque

WINDOW_S = 900.0
LEAST_S = 60.0
_LEAST_BYTES = 64 << 20


class Forecast:
    """Free space over the last quarter of an hour, and the line through it."""

    def __init__(self) -> None:
        self._seen: deque[tuple[float, int]] = deque()

    def add(self, now: float, free_bytes: int) -> float | None:
        """Take the present free space; give the seconds until none is left, `None` where it is not filling."""
        self._seen.append((now, free_bytes))
        while self._seen[0][0] < now - WINDOW_S:
            self._seen.popleft()
        return seconds_until_full(list(self._seen))


def seconds_until_full(seen: list[tuple[float, int]]) -> float | None:
    """By least squares over (time, free bytes). `None` under a minute of history or 64 MiB written: a log line or a
    temporary file is no trend."""
    begun, ended = seen[0], seen[-1]
    if ended[0] - begun[0] < LEAST_S or begun[1] - ended[1] < _LEAST_BYTES:
        return None
    mean_time = sum(at for at, _ in seen) / len(seen)
    mean_free = sum(free for _, free in seen) / len(seen)
    spread = sum((at - mean_time) ** 2 for at, _ in seen)
    slope = sum((at - mean_time) * (free - mean_free) for at, free in seen) / spread
    return ended[1] / -slope if slope < 0 else None
