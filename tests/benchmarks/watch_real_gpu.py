"""The watch on a real GPU under a real load: agreement with nvidia-smi, cost of each reading, effect on the load.

python -m tests.benchmarks.watch_real_gpu OUT_FOLDER      (needs torch and an NVIDIA GPU; about 100 s)
"""

import json
import os
import signal
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil

from engine.watch.gpu_reading import SlowReader, read_gpu, read_sample
from engine.watch.nvml import open_session
from engine.watch.recorder import record
from state.database import open_database
from state.gpus import gpu_history, read_gpus, read_health, read_processes, read_status

WINDOW_S, PAIRS = 4.0, 6
LOAD = """
import sys, time, torch
a = torch.randn(8192, 8192, device='cuda', dtype=torch.bfloat16)
b = torch.randn(8192, 8192, device='cuda', dtype=torch.bfloat16)
while True:
    begun = time.time()
    for _ in range(50):
        c = a @ b
    torch.cuda.synchronize()
    print(begun, time.time(), 50, flush=True)
"""
QUERY = "utilization.gpu,memory.used,power.draw.instant,power.draw.average,temperature.gpu,temperature.memory,clocks.sm"


class Load:
    """A matrix product loop and the times of its rounds."""

    def __init__(self) -> None:
        self.process = subprocess.Popen([sys.executable, "-c", LOAD], stdout=subprocess.PIPE, text=True)
        self.rounds: list[tuple[float, float, float]] = []
        threading.Thread(target=self._read, daemon=True).start()

    def products_per_s(self, begin: float, end: float) -> float:
        inside = [row for row in self.rounds if row[0] >= begin and row[1] <= end]
        return sum(row[2] for row in inside) / (inside[-1][1] - inside[0][0])

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            begun, ended, count = map(float, line.split())
            self.rounds.append((begun, ended, count))


@contextmanager
def engine(home: Path) -> Iterator[psutil.Process]:
    process = subprocess.Popen([sys.executable, "-m", "engine.daemon"], env=os.environ | {"ALULA_HOME": str(home)})
    try:
        yield psutil.Process(process.pid)
    finally:
        process.terminate()
        process.wait()


def effect(load: Load, watcher: psutil.Process) -> dict[str, Any]:
    """Throughput with the engine running and held, in turn, so that heat and clocks drift alike for both."""
    ratios, used = [], []
    for _ in range(PAIRS):
        speeds = []
        for number in (signal.SIGSTOP, signal.SIGCONT):
            os.kill(watcher.pid, number)
            before, begun = watcher.cpu_times(), time.time()
            time.sleep(WINDOW_S)
            speeds.append(load.products_per_s(begun, time.time()))
            after = watcher.cpu_times()
        used.append((after.user + after.system - before.user - before.system) / WINDOW_S * 100)
        ratios.append(speeds[1] / speeds[0])
    return {
        "products_per_s": speeds[0],
        "ratios_on_to_off": ratios,
        "effect_percent": (1 - statistics.mean(ratios)) * 100,
        "standard_error_percent": statistics.stdev(ratios) / len(ratios) ** 0.5 * 100,
        "engine_cpu_percent": statistics.mean(used),
        "engine_rss_mib": watcher.memory_info().rss / 2**20,
    }


def compare(database_path: Path, load_pid: int) -> dict[str, Any]:
    """The same second by nvidia-smi and by the database."""
    rows = []
    for _ in range(10):
        at = time.time()
        smi = [float(cell) for cell in smi_csv(f"--query-gpu={QUERY}")[0]]
        apps = smi_csv("--query-compute-apps=pid,used_memory")
        time.sleep(1.0)
        with open_database(database_path) as database:
            uuid = read_gpus(database)[0].uuid
            near = min(gpu_history(database, uuid, at - 3, at + 3, at), key=lambda s: abs(s.taken_at - at))
            processes = [(p.pid, p.memory_bytes, p.user, p.command) for p in read_processes(database)]
        ours = [near.utilization_percent, (near.memory_used_bytes or 0) / 2**20, near.power_w, near.power_w,
                near.temperature_c, near.memory_temperature_c, near.sm_clock_mhz]  # fmt: skip
        rows.append({"apart_s": near.taken_at - at, "nvidia_smi": smi, "alula": ours, "smi_apps": apps,
                     "alula_processes": processes, "load_pid": load_pid})  # fmt: skip
    return {"columns": QUERY.split(","), "rows": rows}


def smi_csv(query: str) -> list[list[str]]:
    done = subprocess.run(
        ["nvidia-smi", query, "--format=csv,noheader,nounits"], capture_output=True, text=True, check=True
    )
    return [[cell.strip() for cell in line.split(",")] for line in done.stdout.splitlines()]


def costs() -> dict[str, Any]:
    session = open_session()
    device = session.devices()[0]
    slow = SlowReader(device)

    def timed(work: Callable[[], object], times: int) -> dict[str, float]:
        took = []
        for _ in range(times):
            begun = time.perf_counter()
            work()
            took.append((time.perf_counter() - begun) * 1e6)
        return {"median_us": statistics.median(took), "max_us": max(took)}

    return {
        "read_gpu": timed(lambda: read_gpu(device, 0.0), 3),
        "read_sample": timed(lambda: read_sample(device, 0.0), 300),
        "read_slow": timed(lambda: slow.read(0.0, with_energy=False), 5),
        "read_slow_with_energy": timed(lambda: slow.read(0.0, with_energy=True), 3),
        "absences": device.absences,
    }


def main(out: Path) -> None:
    home = Path(os.environ.get("WATCH_HOME", "/tmp/alula-watch"))
    home.mkdir(mode=0o700, exist_ok=True)
    path, results = home / "alula.sqlite", {}

    def attempt(name: str, work: Callable[[], Any]) -> None:
        try:
            results[name] = work()
        except Exception as error:  # one part that fails on a strange machine must not cost the others
            results[name] = repr(error)
        (out / "watch.json").write_text(json.dumps(results, indent=1, default=str))

    load = Load()
    with engine(home) as watcher:
        while len(load.rounds) < 20 and load.process.poll() is None:
            time.sleep(0.1)
        time.sleep(5)
        attempt("effect", lambda: effect(load, watcher))
        attempt("costs", costs)
        with open_database(path) as database:
            attempt("status", lambda: str(read_status(database)))
            attempt("gpus", lambda: str(read_gpus(database)))
            recorder = threading.Thread(
                target=lambda: attempt("lines", lambda: record(database, out / "h200.jsonl.gz", 22))
            )
            recorder.start()
            attempt("compare", lambda: compare(path, load.process.pid))
            load.process.kill()
            attempt("health", lambda: str(read_health(database)))
            recorder.join()
    print(json.dumps(results, indent=1, default=str))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
