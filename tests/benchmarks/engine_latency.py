"""How long a command takes to its effect, and an idle engine's cost: python -m tests.benchmarks.engine_latency."""

import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

import psutil

from engine.client import Client
from state.folder import state_folder

COMMANDS = 60
IDLE_S = 15.0
LOOK_S = 0.0005
WARM_UP_S = 3.0


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        os.environ["ALULA_HOME"] = folder
        client = Client(state_folder())
        began = time.perf_counter()
        engine = client.ensure_engine()
        print(f"{'engine start':<34}{(time.perf_counter() - began) * 1000:8.1f} ms")
        try:
            time.sleep(WARM_UP_S)
            print_idle(engine.pid)
            client.ask("jobs.launch", {"argv": ["true"]})
            print_times("ask and answer (synced to disk)", [answered_s(client) for _ in range(COMMANDS)])
            print_times("ask to the job's first byte", [started_s(client) for _ in range(COMMANDS // 3)])
        finally:
            client.ask("engine.stop", {})


def answered_s(client: Client) -> float:
    """A stop of a job that has ended: all of the way there and back, and no work."""
    began = time.perf_counter()
    client.ask("jobs.stop", {"job_id": 1})
    return time.perf_counter() - began


def started_s(client: Client) -> float:
    """From the key to what the job prints: command, answer, runner, process."""
    began = time.perf_counter()
    answer = client.ask("jobs.launch", {"argv": ["echo", "here"]})
    log = Path(answer["run_folder"]) / "log.txt"
    while not (log.exists() and log.stat().st_size):
        time.sleep(LOOK_S)
    return time.perf_counter() - began


def print_times(name: str, seconds: list[float]) -> None:
    cuts = statistics.quantiles(seconds, n=20)
    print(f"{name:<34}{cuts[9] * 1000:8.1f} ms p50{cuts[18] * 1000:8.1f} ms p95{max(seconds) * 1000:8.1f} ms max")


def print_idle(pid: int) -> None:
    process = psutil.Process(pid)
    before, began = process.cpu_times(), time.perf_counter()
    time.sleep(IDLE_S)
    after, took = process.cpu_times(), time.perf_counter() - began
    used = after.user + after.system - before.user - before.system
    print(f"{'idle engine':<34}{used / took * 100:8.2f} % of a core, {process.memory_info().rss / 2**20:.0f} MiB")


if __name__ == "__main__":
    sys.exit(main())
