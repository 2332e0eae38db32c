"""Runs a module of Alula under a clock that goes faster: a night of its timers, roll-ups and limits in minutes.

python -m tests.benchmarks.fast_clock FACTOR MODULE [ARGUMENTS ...]
"""

import runpy
import selectors
import sys
import time


def speed_up(factor: float) -> None:
    """From now on this process's clocks go `factor` times as fast, and what waits by them waits as much shorter."""
    wall, steady, sleep, select = time.time, time.monotonic, time.sleep, selectors.EpollSelector.select
    wall_begun, steady_begun = wall(), steady()

    def wait(selector: selectors.EpollSelector, timeout: float | None = None) -> object:
        return select(selector, timeout and timeout / factor)

    time.time = lambda: wall_begun + (wall() - wall_begun) * factor
    time.monotonic = lambda: steady_begun + (steady() - steady_begun) * factor
    time.sleep = lambda seconds: sleep(seconds / factor)
    selectors.EpollSelector.select = wait  # type: ignore[assignment, method-assign]


if __name__ == "__main__":
    speed_up(float(sys.argv[1]))
    sys.argv = sys.argv[2:]
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
