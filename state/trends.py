"""The last minutes of one figure, in means over short steps: what a small chart beside a row draws."""

import sqlite3
from collections.abc import Mapping

STEP_S = 5
KEPT_S = 1200
"""Twenty minutes: more than a row has room for."""

Trend = tuple[tuple[float, float | None], ...]
"""Beginnings of steps in UTC seconds, ascending, and means; `None` where nothing was read."""

_GPUS = """SELECT uuid, CAST(taken_at / :step AS INTEGER), AVG(utilization_percent) FROM gpu_sample
    JOIN gpu ON gpu.id = gpu_id WHERE taken_at >= :since GROUP BY 1, 2 ORDER BY 2"""
_SERVERS = """SELECT url, CAST(taken_at / :step AS INTEGER), AVG(tokens_per_s) FROM server_sample
    JOIN server ON server.id = server_id WHERE taken_at >= :since GROUP BY 1, 2 ORDER BY 2"""


class TrendReader:
    """Reads the whole past once, then only the step under way; after a pause, what was missed."""

    def __init__(self, sql: str) -> None:
        self._sql = sql
        self._means: dict[str, dict[int, float | None]] = {}
        self._newest = 0

    def read(self, connection: sqlite3.Connection, now: float) -> Mapping[str, Trend]:
        """Each subject's trend by its UUID or URL."""
        oldest = int((now - KEPT_S) // STEP_S)
        since = max(self._newest, oldest)
        for key, step, mean in connection.execute(self._sql, {"step": STEP_S, "since": since * STEP_S}):
            self._means.setdefault(key, {})[step] = mean
            self._newest = max(self._newest, step)
        found = {}
        for key, means in list(self._means.items()):
            while means and (first := next(iter(means))) < oldest:
                del means[first]
            if means:
                found[key] = tuple((float(step * STEP_S), mean) for step, mean in means.items())
            else:
                del self._means[key]
        return found


def gpu_trends() -> TrendReader:
    """Utilisation in percent, by UUID."""
    return TrendReader(_GPUS)


def server_trends() -> TrendReader:
    """Tokens a second, by URL."""
    return TrendReader(_SERVERS)
