"""The host by psutil: processors, memory, network, disks, and the kernel's pressure figures where it has them."""

import asyncio
import os
import time
from collections.abc import Callable, Iterable
from pathlib import Path

import psutil

from engine.watch.disk_forecast import Forecast
from engine.watch.readings import Board, Readings
from engine.watch.ticks import until_tick
from state.records.host import DiskSample, HostSample

SAMPLE_S = 1.0
DISKS_S = 10.0
_PRESSURE = Path("/proc/pressure")


async def watch_host(board: Board, disks: Callable[[], Iterable[tuple[str, Path]]]) -> None:
    """Watch until cancelled.

    Args:
        board: Takes the readings.
        disks: Gives purpose and path of what is stored; asked again at each look, since runs come and go.
    """
    reader, disk_reader = HostReader(), DiskReader()
    disks_due = time.monotonic()
    while True:
        now = time.monotonic()
        found = None
        if now >= disks_due:
            disks_due = now + DISKS_S
            # A dead network mount can hold statvfs up for minutes, so not on the event loop.
            found = await asyncio.to_thread(disk_reader.read, list(disks()), time.time())
        board.put(Readings(host=reader.read(time.time()), disks=found))
        await asyncio.sleep(until_tick(SAMPLE_S))


class HostReader:
    """Reads the host; keeps the last network counters, to make rates of them."""

    def __init__(self) -> None:
        self._cores = psutil.cpu_count() or 1
        self._network: tuple[float, int, int] | None = None
        psutil.cpu_percent()

    def read(self, now: float) -> HostSample:
        """The host over the time since the last call."""
        memory, swap = psutil.virtual_memory(), psutil.swap_memory()
        load = psutil.getloadavg()
        received, sent = self._network_rates()
        return HostSample(
            taken_at=now,
            cpu_percent=psutil.cpu_percent(),
            load_1m=load[0],
            load_5m=load[1],
            load_15m=load[2],
            cores=self._cores,
            memory_used_bytes=memory.total - memory.available,
            memory_total_bytes=memory.total,
            swap_used_bytes=swap.used,
            swap_total_bytes=swap.total,
            network_received_bytes_per_s=received,
            network_sent_bytes_per_s=sent,
            pressure_cpu_percent=pressure("cpu"),
            pressure_memory_percent=pressure("memory"),
            pressure_io_percent=pressure("io"),
        )

    def _network_rates(self) -> tuple[float | None, float | None]:
        counters = [c for name, c in psutil.net_io_counters(pernic=True).items() if name != "lo"]
        received, sent = sum(c.bytes_recv for c in counters), sum(c.bytes_sent for c in counters)
        before, self._network = self._network, (time.monotonic(), received, sent)
        if before is None or received < before[1] or sent < before[2]:
            return None, None
        elapsed = max(self._network[0] - before[0], 1e-3)
        return (received - before[1]) / elapsed, (sent - before[2]) / elapsed


class DiskReader:
    """Reads file systems and foretells when each is full."""

    def __init__(self) -> None:
        self._forecasts: dict[str, Forecast] = {}

    def read(self, wanted: Iterable[tuple[str, Path]], now: float) -> tuple[DiskSample, ...]:
        """One sample for each file system that holds one of the paths; its purposes are joined."""
        purposes: dict[str, list[str]] = {}
        for purpose, path in wanted:
            if mount := mount_of(path):
                names = purposes.setdefault(mount, [])
                if purpose not in names:
                    names.append(purpose)
        samples = (self._sample(mount, ", ".join(names), now) for mount, names in purposes.items())
        return tuple(sample for sample in samples if sample is not None)

    def _sample(self, mount: str, purpose: str, now: float) -> DiskSample | None:
        try:
            status = os.statvfs(mount)
        except OSError:
            return None
        free = status.f_bavail * status.f_frsize
        forecast = self._forecasts.setdefault(mount, Forecast())
        return DiskSample(
            mount=mount,
            taken_at=now,
            purpose=purpose,
            used_bytes=(status.f_blocks - status.f_bfree) * status.f_frsize,
            total_bytes=status.f_blocks * status.f_frsize,
            free_bytes=free,
            inodes_free=status.f_favail if status.f_files else None,
            inodes_total=status.f_files or None,
            full_in_s=forecast.add(now, free),
        )


def mount_of(path: Path) -> str | None:
    """The mount point that a path lies on, or would lie on once it is made."""
    current = path.absolute()
    while not current.exists():
        if current == current.parent:
            return None
        current = current.parent
    while not current.is_mount():
        current = current.parent
    return str(current)


def pressure(resource: str, folder: Path = _PRESSURE) -> float | None:
    """Share of the last ten seconds in which some task waited for this resource; `None` without CONFIG_PSI."""
    try:
        text = (folder / resource).read_text()
        return float(text.split("avg10=", 1)[1].split(None, 1)[0])
    except (OSError, IndexError, ValueError):
        return None
