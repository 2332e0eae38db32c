"""Feeds a state folder as a busy host would: 8 GPUs, a server, a regeneration and jobs, once a second.

python -m tests.benchmarks.feeder FOLDER [--gpus 8] [--jobs 40] [--interval 1] [--seed 1]

It holds the engine's lock and row: a console opened on the folder (`ALULA_HOME=FOLDER alula`) starts no engine.
"""

import argparse
import math
import os
import random
import sqlite3
import time
from pathlib import Path

from engine.lock import take_lock
from state import engine, gpus, host, rows, servers
from state.alerts import raise_alert
from state.database import open_database
from state.process_identity import boot_id, identify
from state.records.engine import Engine, EnginePart
from state.records.gpus import Gpu, GpuHealth, GpuProcess, GpuSample, GpuStatus
from state.records.host import DiskSample, HostSample
from state.records.jobs import Job
from state.records.regeneration import Regeneration, RegenerationProgress
from state.records.servers import Server, ServerSample
from state.version import VERSION

GIB = 1 << 30
URL = "http://127.0.0.1:30000"
TOTAL, TOKENS_PER_S, TOKENS_PER_SAMPLE = 83_288, 830.0, 1_100
HISTORY_S = 600


class Feeder:
    """Values that wander as those of a host under load do: a few units a second."""

    def __init__(self, connection: sqlite3.Connection, *, gpu_count: int, job_count: int, seed: int) -> None:
        self.connection = connection
        self.random = random.Random(seed)
        self.job_count = job_count
        self.gpus = [
            Gpu(
                uuid=f"GPU-{index:08x}", index=index, name="NVIDIA H200", memory_total_bytes=141 * GIB,
                power_limit_w=700.0, sm_clock_max_mhz=1980, seen_at=time.time(),
            )
            for index in range(gpu_count)
        ]  # fmt: skip
        self.utilization = {gpu.uuid: 85.0 for gpu in self.gpus}
        self.done = 41_202.0

    def prepare(self, now: float) -> None:
        """Write what stays, and some minutes of history."""
        db = self.connection
        identity = identify(os.getpid())
        assert identity is not None
        engine.write_engine(
            db,
            Engine(
                pid=identity.pid, pid_started_at=identity.started_at, boot_id=boot_id(), version=VERSION,
                started_at=now, heartbeat_at=now,
            ),
        )  # fmt: skip
        for name in ("gpus", "host", "servers", "jobs", "alerts"):
            engine.write_part(db, EnginePart(name=name, state="running", since=now))
        gpus.write_status(db, GpuStatus(taken_at=now, availability="available", message=f"{len(self.gpus)} GPUs"))
        gpus.write_gpus(db, self.gpus)
        gpus.write_health(db, [_health(gpu, now) for gpu in self.gpus])
        servers.write_servers(db, [_server(now)])
        self._add_jobs(now)
        self._add_regeneration(now)
        raise_alert(
            db, rule="gpu-hot", subject="gpu 3", severity="warning", title="GPU 3 slows down from heat",
            cause="It has been at 88 °C for 4 minutes.", remedy="Look at the fans and the air intake.", now=now,
        )  # fmt: skip
        for past in range(HISTORY_S, 0, -1):
            self.tick(now - past)

    def tick(self, now: float) -> None:
        """One second of the host's life, in one transaction."""
        db = self.connection
        db.execute("BEGIN")
        engine.beat(db, now)
        gpus.write_samples(db, [self._gpu_sample(gpu, now) for gpu in self.gpus])
        gpus.write_processes(db, [_process(gpu, now) for gpu in self.gpus])
        host.write_host_sample(db, self._host_sample(now))
        host.write_disks(db, [_disk(now)])
        servers.write_server_samples(db, [self._server_sample(now)])
        rows.replace(db, "regeneration_progress", self._progress(now))
        db.execute("COMMIT")

    def _gpu_sample(self, gpu: Gpu, now: float) -> GpuSample:
        value = min(100.0, max(0.0, self.utilization[gpu.uuid] + self.random.randint(-4, 4)))
        self.utilization[gpu.uuid] = value
        return GpuSample(
            uuid=gpu.uuid, taken_at=now, utilization_percent=value, memory_used_bytes=int((118 + gpu.index) * GIB),
            memory_total_bytes=141 * GIB, power_w=200 + value * 4.6 + self.random.uniform(-5, 5), power_limit_w=700.0,
            temperature_c=round(45 + value / 4 + math.sin(now / 60) * 2), memory_temperature_c=70.0,
            sm_clock_mhz=self.random.choice((1965, 1980)), memory_clock_mhz=3201, throttle_reasons=0,
        )  # fmt: skip

    def _host_sample(self, now: float) -> HostSample:
        return HostSample(
            taken_at=now, cpu_percent=self.random.uniform(20, 30), load_1m=22.1, load_5m=21.8, load_15m=20.4, cores=192,
            memory_used_bytes=410 * GIB, memory_total_bytes=2048 * GIB, swap_used_bytes=0, swap_total_bytes=0,
            network_received_bytes_per_s=self.random.uniform(4e6, 5e6), network_sent_bytes_per_s=2e6,
        )  # fmt: skip

    def _server_sample(self, now: float) -> ServerSample:
        return ServerSample(
            url=URL, taken_at=now, tokens_per_s=TOKENS_PER_S + self.random.uniform(-20, 20), running_requests=64,
            queued_requests=self.random.randint(0, 3), token_usage=0.61, cache_hit_rate=0.12,
            accept_length=2.1 + self.random.uniform(-0.05, 0.05), accept_rate=0.22, ttft_p50_s=0.4, ttft_p95_s=1.2,
            itl_p50_s=0.011, itl_p95_s=0.03,
        )  # fmt: skip

    def _progress(self, now: float) -> RegenerationProgress:
        rate = TOKENS_PER_S + self.random.uniform(-20, 20)
        self.done += rate / TOKENS_PER_SAMPLE
        eta_s = (TOTAL - self.done) * TOKENS_PER_SAMPLE / TOKENS_PER_S
        return RegenerationProgress(
            run_id=1, taken_at=now, done=int(self.done), failed=12, failed_by_kind={"timeout": 12}, in_flight=64,
            completion_tokens=int(self.done * TOKENS_PER_SAMPLE), tokens_per_s_now=rate,
            tokens_per_s_overall=TOKENS_PER_S, eta_s=eta_s, eta_low_s=eta_s * 0.93, eta_high_s=eta_s * 1.12,
        )  # fmt: skip

    def _add_jobs(self, now: float) -> None:
        self.connection.execute("BEGIN")
        for index in range(1, self.job_count + 1):
            running = index <= 2
            job = Job(
                id=index, name="regen-kimi" if index == 1 else f"job-{index}",
                kind="regen" if index == 1 else "command",
                state="running" if running else "done", argv=("sleep", "1000"), working_dir="/tmp",
                run_folder=f"/tmp/run-{index}", created_at=now - 7200 - index, started_at=now - 7000 - index,
                ended_at=None if running else now - 3600 + index % 3600, exit_code=None if running else 0,
            )  # fmt: skip
            rows.replace(self.connection, "job", job)
        self.connection.execute("COMMIT")

    def _add_regeneration(self, now: float) -> None:
        run = Regeneration(
            id=1, name="regen-kimi", run_folder="/tmp/run-1", job_id=1 if self.job_count else None,
            inputs=("prompts.jsonl",), server_url=URL, model="kimi-k2", concurrency=64, total=TOTAL,
            created_at=now - 7200,
        )  # fmt: skip
        rows.replace(self.connection, "regeneration", run)


def _health(gpu: Gpu, now: float) -> GpuHealth:
    return GpuHealth(
        uuid=gpu.uuid, taken_at=now, ecc_corrected=2, ecc_uncorrected=0, remapped_rows=0, remap_pending=False,
        remap_failed=False, recovery_action=0, energy_j=9.4e8, pcie_generation=5, pcie_width=16,
        pcie_sent_bytes_per_s=1.2e9, pcie_received_bytes_per_s=3.4e9, nvlinks_active=18, nvlinks_total=18,
        nvlink_sent_bytes_per_s=4.1e10, nvlink_received_bytes_per_s=4.2e10,
    )  # fmt: skip


def _server(now: float) -> Server:
    return Server(
        url=URL, framework="sglang", version="0.5.9", model="kimi-k2", draft_model="kimi-k2-eagle3",
        speculative_algorithm="EAGLE3", started_at=now - 90_000, found_by="process", seen_at=now, health="up",
    )  # fmt: skip


def _process(gpu: Gpu, now: float) -> GpuProcess:
    command = "sglang::scheduler"
    return GpuProcess(
        uuid=gpu.uuid, pid=4000 + gpu.index, taken_at=now, memory_bytes=118 * GIB, user="ops", command=command
    )


def _disk(now: float) -> DiskSample:
    used, total = 3_100 * GIB, 7_000 * GIB
    return DiskSample(
        mount="/data", taken_at=now, purpose="runs", used_bytes=used, total_bytes=total, free_bytes=total - used
    )


def feed(folder: Path, *, gpu_count: int = 8, job_count: int = 40, interval_s: float = 1.0, seed: int = 1) -> None:
    """Feed until the process ends."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if take_lock(folder / "engine.lock") is None:
        raise SystemExit(f"An engine runs on {folder}; give a folder of its own.")
    connection = open_database(folder / "alula.sqlite")
    feeder = Feeder(connection, gpu_count=gpu_count, job_count=job_count, seed=seed)
    feeder.prepare(time.time())
    print("fed", flush=True)
    due = time.monotonic()
    while True:
        feeder.tick(time.time())
        due += interval_s
        time.sleep(max(0.0, due - time.monotonic()))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--gpus", type=int, default=8)
    parser.add_argument("--jobs", type=int, default=40)
    parser.add_argument("--interval", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    feed(given.folder, gpu_count=given.gpus, job_count=given.jobs, interval_s=given.interval, seed=given.seed)


if __name__ == "__main__":
    main()
