"""XID and memory errors as the driver reports them: a thread that waits, so nothing is polled."""

import threading
import time
from typing import Any

from engine.watch.nvml import Device, GpuLost, Session, address_of
from engine.watch.readings import Board, Readings
from engine.watch.xid import xid_words
from state.records.gpus import GpuEvent

_SINGLE_BIT, _DOUBLE_BIT, _XID = 0x1, 0x2, 0x8
_WAIT_MS = 1000
_TIMEOUT = 10


def wait_for_events(session: Session, devices: list[Device], board: Board, ending: threading.Event) -> None:
    """Put each event on the board until `ending` is set. Ends at once where the driver offers no events; the GPUs'
    `absences` then name `xid`, so that silence is not taken for health."""
    binding = session.binding
    events = binding.nvmlEventSetCreate()
    try:
        watched = [device for device in devices if device.parent is None and _register(device, events)]
        while watched and not ending.is_set():
            try:
                data = binding.nvmlEventSetWait_v2(events, _WAIT_MS)
            except binding.NVMLError as error:
                if error.value == _TIMEOUT:
                    continue
                return
            board.put(Readings(gpu_events=(_event(data, watched),)))
    finally:
        binding.nvmlEventSetFree(events)


def _register(device: Device, events: object) -> bool:
    try:
        supported = device.read("xid", "nvmlDeviceGetSupportedEventTypes") or 0
        wanted = supported & (_XID | _DOUBLE_BIT | _SINGLE_BIT)
        if not wanted & _XID:
            device.note_unsupported("xid")
            return False
        device.read("xid", "nvmlDeviceRegisterEvents", wanted, events)
    except GpuLost:
        return False
    return "xid" not in device.absences


def _event(data: Any, watched: list[Device]) -> GpuEvent:
    address = address_of(data.device)
    uuid = next((device.uuid for device in watched if address_of(device.handle) == address), "")
    now, kind, code = time.time(), data.eventType, int(data.eventData)
    if kind == _XID:
        return GpuEvent(uuid=uuid, at=now, kind="xid", code=code, message=xid_words(code))
    words = "double-bit memory error" if kind == _DOUBLE_BIT else "single-bit memory error, corrected"
    return GpuEvent(uuid=uuid, at=now, kind="ecc", message=words)
