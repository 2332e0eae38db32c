"""Measures the load generator while it measures: its CPU, how late its event loop runs, steps of the clock."""

import asyncio
import time

from engine.bench.records import ClientCost
from engine.bench.statistics import Percentiles

LOOK_S = 0.02
BUSY_SHARE = 0.9
LAG_SHARE = 0.1
LAG_FLOOR_S = 0.005
STEP_S = 1.0


class ClientMeter:
    """Use it around a measurement, inside its event loop."""

    def __init__(self) -> None:
        self._lags = Percentiles(65_536)
        self._late = Percentiles(65_536)
        self._began = time.perf_counter()
        self._cpu = time.process_time()
        self._wall_less_monotonic = time.time() - time.monotonic()
        self._handle: asyncio.TimerHandle | None = None
        self._due = 0.0
        self.requests = 0

    def start(self) -> None:
        """Look from now on."""
        self._began, self._cpu = time.perf_counter(), time.process_time()
        self._arm(asyncio.get_running_loop())

    def late(self, seconds: float) -> None:
        """A request of an open loop was sent so late."""
        self._late.add(seconds)

    def stop(self) -> ClientCost:
        """What it was."""
        if self._handle is not None:
            self._handle.cancel()
        return ClientCost(
            cpu_s=time.process_time() - self._cpu,
            wall_s=time.perf_counter() - self._began,
            requests=self.requests,
            loop_lag_p50_s=self._lags.at(50) or 0.0,
            loop_lag_p99_s=self._lags.at(99) or 0.0,
            loop_lag_max_s=self._lags.most or 0.0,
            late_p99_s=self._late.at(99) or 0.0,
            clock_step_s=_step(time.time() - time.monotonic() - self._wall_less_monotonic),
        )

    def _arm(self, loop: asyncio.AbstractEventLoop) -> None:
        self._due = loop.time() + LOOK_S
        self._handle = loop.call_at(self._due, self._look, loop)

    def _look(self, loop: asyncio.AbstractEventLoop) -> None:
        self._lags.add(max(0.0, loop.time() - self._due))
        self._arm(loop)


def client_limit(cost: ClientCost, ttft_p50_s: float | None) -> str:
    """Why the figures may be the client's own; empty where they are the server's.

    A loop that runs late by a tenth of the usual wait for a first token, or a core that is used up, would show.
    """
    if cost.cpu_share >= BUSY_SHARE:
        return f"the load generator used {cost.cpu_share * 100:.0f} % of a core"
    allowed = max(LAG_FLOOR_S, LAG_SHARE * (ttft_p50_s or 0.0))
    if cost.loop_lag_p99_s > allowed:
        return f"the load generator's loop ran {cost.loop_lag_p99_s * 1000:.0f} ms late (p99)"
    if cost.late_p99_s > allowed:
        return f"requests were sent {cost.late_p99_s * 1000:.0f} ms late (p99)"
    return ""


def _step(seconds: float) -> float:
    return seconds if abs(seconds) >= STEP_S else 0.0
