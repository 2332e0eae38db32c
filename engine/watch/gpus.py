"""The GPU watcher: threads of its own for NVML, so that a slow or hung driver never holds up the engine.

One thread samples each second. A second reads what is slow every ten seconds (PCIe throughput blocks 20 ms a call). A
third waits for XID events. Only the first opens and closes the session.
"""

import asyncio
import threading
import time
from collections.abc import Callable

import msgspec

from engine.watch.driver_status import DriverUnavailable, no_devices
from engine.watch.gpu_events import wait_for_events
from engine.watch.gpu_processes import ProcessReader
from engine.watch.gpu_reading import SlowReader, read_gpu, read_sample
from engine.watch.nvml import Device, DriverGone, GpuLost, Session, mig_instances, open_session
from engine.watch.readings import Board, Readings
from engine.watch.ticks import until_tick
from state.records.gpus import Gpu, GpuEvent, GpuSample, GpuStatus

SAMPLE_S = 1.0
PROCESSES_S = 2.0
SLOW_S = 10.0
ENERGY_S = 60.0
PROBE_S = 30.0
"""How often an absent driver or a lost GPU is looked for again."""
RELIST_PROBES = 2.0
"""After how many times that long new GPUs and MIG instances are looked for."""


async def watch_gpus(board: Board) -> None:
    """Watch until cancelled.

    Raises:
        Exception: Whatever ended the sampling thread; the supervisor starts it anew.
    """
    loop = asyncio.get_running_loop()
    ended: asyncio.Future[None] = loop.create_future()
    watcher = GpuWatcher(board)

    def settle(error: Exception | None) -> None:
        if not ended.done():
            ended.set_exception(error) if error else ended.set_result(None)

    def work() -> None:
        problem: Exception | None = None
        try:
            watcher.run()
        except Exception as error:  # crosses to the event loop, where the supervisor sees it
            problem = error
        if not loop.is_closed():
            loop.call_soon_threadsafe(settle, problem)

    threading.Thread(target=work, name="nvml", daemon=True).start()
    try:
        await ended
    finally:
        watcher.stopping.set()


class GpuWatcher:
    """Everything that runs in the sampling thread."""

    def __init__(self, board: Board, probe_s: float = PROBE_S) -> None:
        self.stopping = threading.Event()
        self._board = board
        self._probe_s = probe_s
        self._known: dict[str, Gpu] = {}

    def run(self) -> None:
        """Probe for a driver, watch while it lasts, and probe again, until `stopping` is set."""
        while not self.stopping.is_set():
            try:
                session = open_session()
            except DriverUnavailable as unavailable:
                self._all_lost(unavailable.status.message)
                self._put_status(unavailable.status)
                self.stopping.wait(self._probe_s)
                continue
            try:
                again_at_once = self._watch(session)
            finally:
                session.close()
            if not again_at_once:
                self.stopping.wait(self._probe_s)

    def _watch(self, session: Session) -> bool:
        """Watch one session. True where a new one can be opened without a wait."""
        devices = session.devices()
        if not devices:
            self._put_status(no_devices(session.driver_version, session.library_version))
            return False
        self._announce(session, devices)
        ending = threading.Event()
        helpers = [
            threading.Thread(target=_ending_with_the_session, args=(work, ending), name=name, daemon=True)
            for name, work in (
                ("nvml-slow", lambda: _read_slowly(devices, self._board, ending)),
                ("nvml-events", lambda: wait_for_events(session, devices, self._board, ending)),
            )
        ]
        for thread in helpers:
            thread.start()
        try:
            return self._sample(session, devices)
        except DriverGone:
            self._all_lost("the NVIDIA driver was unloaded")
            return False
        finally:
            ending.set()
            for thread in helpers:
                thread.join(timeout=5)

    def _sample(self, session: Session, devices: list[Device]) -> bool:
        count = _count(session, len(devices))
        present = list(devices)
        processes = ProcessReader()
        begun = processes_due = time.monotonic()
        relist_due = begun + RELIST_PROBES * self._probe_s
        while not self.stopping.is_set():
            now, clock = time.time(), time.monotonic()
            samples = [sample for device in list(present) if (sample := self._attempt(device, present, now))]
            rows = None
            if clock >= processes_due:
                rows, processes_due = processes.read(present, now), clock + PROCESSES_S - SAMPLE_S / 2
            self._board.put(Readings(gpu_samples=tuple(samples), gpu_processes=rows))
            if len(present) < len(devices) and clock >= begun + self._probe_s:
                return True
            if clock >= relist_due:
                relist_due = clock + RELIST_PROBES * self._probe_s
                if _instances_changed(present) or _count(session, count) != count:
                    return True
            self.stopping.wait(until_tick(SAMPLE_S))
        return True

    def _attempt(self, device: Device, present: list[Device], now: float) -> GpuSample | None:
        try:
            return read_sample(device, now)
        except GpuLost:
            present.remove(device)
            self._lost(device.uuid, now, "stopped answering: fallen off the bus, removed, or in need of a reset")
            return None

    def _announce(self, session: Session, devices: list[Device]) -> None:
        now = time.time()
        events: list[GpuEvent] = []
        gpus = [gpu for device in devices if (gpu := _attempt_gpu(device, now))]
        for gpu in gpus:
            before = self._known.get(gpu.uuid)
            if before and before.lost_at is not None:
                events.append(GpuEvent(uuid=gpu.uuid, at=now, kind="returned", message="answers again"))
            self._known[gpu.uuid] = gpu
        self._board.put(Readings(gpus=tuple(gpus), gpu_events=tuple(events)))
        for uuid in self._known.keys() - {gpu.uuid for gpu in gpus}:
            self._lost(uuid, now, "is no longer listed by the driver")
        count = sum(gpu.parent_uuid is None for gpu in gpus)
        status = GpuStatus(
            taken_at=now,
            availability="available",
            message=f"{count} GPU{'s' if count != 1 else ''}, driver {session.driver_version}",
            driver_version=session.driver_version,
            library_version=session.library_version,
        )
        self._board.put(Readings(gpu_status=status))

    def _lost(self, uuid: str, now: float, message: str) -> None:
        gpu = self._known.get(uuid)
        if gpu is None or gpu.lost_at is not None:
            return
        self._known[uuid] = msgspec.structs.replace(gpu, lost_at=now)
        event = GpuEvent(uuid=uuid, at=now, kind="lost", message=message)
        self._board.put(Readings(gpus=(self._known[uuid],), gpu_events=(event,)))

    def _all_lost(self, message: str) -> None:
        for uuid in list(self._known):
            self._lost(uuid, time.time(), message)

    def _put_status(self, status: GpuStatus) -> None:
        self._board.put(Readings(gpu_status=msgspec.structs.replace(status, taken_at=time.time()), gpu_processes=()))


def _read_slowly(devices: list[Device], board: Board, ending: threading.Event) -> None:
    readers = [SlowReader(device) for device in devices if device.parent is None]
    energy_due = 0.0
    while True:
        begun = time.monotonic()
        with_energy = begun >= energy_due
        if with_energy:
            energy_due = begun + ENERGY_S
        for reader in list(readers):
            if ending.is_set():
                return
            try:
                board.put(Readings(gpu_health=(reader.read(time.time(), with_energy=with_energy),)))
            except GpuLost:
                readers.remove(reader)
        if ending.wait(max(0.0, begun + SLOW_S - time.monotonic())):
            return


def _ending_with_the_session(work: Callable[[], None], ending: threading.Event) -> None:
    try:
        work()
    except DriverGone:
        ending.wait()  # the sampling thread meets the same error and ends the session


def _attempt_gpu(device: Device, now: float) -> Gpu | None:
    try:
        return read_gpu(device, now)
    except GpuLost:
        return None


def _count(session: Session, before: int) -> int:
    try:
        return session.count()
    except session.binding.NVMLError:
        return before  # the next sample meets the same error and says so


def _instances_changed(present: list[Device]) -> bool:
    listed = {device.uuid for device in present if device.parent is not None}
    parents = [device for device in present if device.parent is None]
    try:
        found = {instance.uuid for parent in parents for instance in mig_instances(parent)}
    except GpuLost:
        return False  # the next sample meets the loss and says so
    return listed != found
