"""NVML through nvidia-ml-py: one session with the driver, and every value either read or absent for a known reason.

Nothing else of the program imports `pynvml`. Facts and costs: NVIDIA's NVML reference for R580, measured on an H200.
"""

import contextlib
import ctypes
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from engine.watch.driver_status import DriverUnavailable, explain
from state.records.gpus import Absence

RETRY_ABSENT_S = 60.0
"""A value that the device does not support is asked for again after this: saying no costs up to 0.3 ms (fan speed)."""


class GpuLost(Exception):
    """The GPU fell off the bus, was removed, or needs a reset; its handle is of no more use."""


class DriverGone(Exception):
    """The driver was unloaded or replaced under a session that worked before."""


_MODULE_GPUS = Path("/proc/driver/nvidia/gpus")


class Device:
    """A GPU or a MIG instance. Belongs to the session that listed it; calls may come from any thread."""

    def __init__(self, binding: Any, handle: Any, index: int, parent: "Device | None" = None) -> None:
        self.binding = binding
        self.handle = handle
        self.index = index
        self.parent = parent
        self.absences: dict[str, Absence] = {}
        self._retry_at: dict[str, float] = {}
        self.uuid = str(self.read("uuid", "nvmlDeviceGetUUID") or f"unnamed-{index}")

    def read(self, metric: str, function: str, *arguments: Any) -> Any:
        """Call an NVML function on this device; `None` where the value is absent (`absences` then says why).

        Raises:
            GpuLost: The device is gone.
            DriverGone: The whole driver is.
        """
        if self._retry_at.get(metric, 0.0) > time.monotonic():
            return None
        try:
            value = getattr(self.binding, function)(self.handle, *arguments)
        except self.binding.NVMLError as error:
            self._note_absence(metric, absence_of(error.value))
            return None
        if metric in self.absences:
            del self.absences[metric]
        return value

    def read_fields(self, metrics: dict[str, Any]) -> dict[str, int]:
        """Read several field values in one call. Maps metric to NVML field id, or (id, scope); absent ones are missing.

        Raises:
            GpuLost, DriverGone: As in `read`.
        """
        answer = self.read("field_values", "nvmlDeviceGetFieldValues", list(metrics.values()))
        found = {}
        for metric, field in zip(metrics, answer or (), strict=bool(answer)):
            if field.nvmlReturn == 0:
                found[metric] = field_value(field)
                self.absences.pop(metric, None)
            else:
                self._note_absence(metric, absence_of(field.nvmlReturn))
        return found

    def note_unsupported(self, *metrics: str) -> None:
        """Record that these are not asked for because this kind of device never has them."""
        self.absences |= dict.fromkeys(metrics, "not_supported")

    def _note_absence(self, metric: str, absence: Absence) -> None:
        self.absences[metric] = absence
        if absence != "no_data":
            self._retry_at[metric] = time.monotonic() + RETRY_ABSENT_S


class Session:
    """An initialised NVML. Close it when every thread that uses it has ended."""

    def __init__(self, binding: Any) -> None:
        self.binding = binding
        self.driver_version: str = binding.nvmlSystemGetDriverVersion()
        self.library_version: str = binding.nvmlSystemGetNVMLVersion()

    def devices(self) -> list[Device]:
        """GPUs that can be reached, each followed by its MIG instances."""
        found: list[Device] = []
        for index in range(self.binding.nvmlDeviceGetCount()):
            try:
                device = Device(self.binding, self.binding.nvmlDeviceGetHandleByIndex(index), index)
                found += [device, *mig_instances(device)]
            except (self.binding.NVMLError, GpuLost):
                continue  # lost or not ours to see: the others still count
        return found

    def count(self) -> int:
        """How many GPUs there are now: by NVML, and by the kernel module, whose list follows one that is plugged in."""
        listed = int(self.binding.nvmlDeviceGetCount())
        with contextlib.suppress(OSError):
            return max(listed, sum(1 for _ in _MODULE_GPUS.iterdir()))
        return listed

    def close(self) -> None:
        """Shut NVML down; an error in doing so changes nothing."""
        try:
            self.binding.nvmlShutdown()
        except self.binding.NVMLError:
            return


def open_session() -> Session:
    """Load the library and initialise it.

    Raises:
        DriverUnavailable: With the reason and the remedy.
    """
    binding = _load_binding()
    try:
        binding.nvmlInit()
        return Session(binding)
    except binding.NVMLError as error:
        raise DriverUnavailable(explain(error.value, str(error))) from error


def mig_instances(device: Device) -> list[Device]:
    """The MIG instances of a GPU; none where MIG is off."""
    mode = device.read("mig", "nvmlDeviceGetMigMode")
    if not mode or not mode[0]:
        return []
    found = []
    for index in range(device.read("mig_count", "nvmlDeviceGetMaxMigDeviceCount") or 0):
        handle = device.read(f"mig_{index}", "nvmlDeviceGetMigDeviceHandleByIndex", index)
        if handle is not None:
            found.append(Device(device.binding, handle, index, parent=device))
    return found


def absence_of(code: int) -> Absence:
    """Why a value is absent, from NVML's return code.

    Raises:
        GpuLost: GPU_IS_LOST (15) or RESET_REQUIRED (16).
        DriverGone: UNINITIALIZED (1), DRIVER_NOT_LOADED (9) or LIB_RM_VERSION_MISMATCH (18).
    """
    if code in (15, 16):
        raise GpuLost
    if code in (1, 9, 18):
        raise DriverGone
    absences: dict[int, Absence] = {3: "not_supported", 4: "no_permission", 13: "function_missing", 25: "not_supported"}
    return absences.get(code, "no_data")


def address_of(handle: Any) -> int | None:
    """What two handles of the same device have in common."""
    return ctypes.cast(handle, ctypes.c_void_p).value


def field_value(field: Any) -> int:
    """The number in an NVML field value, by its declared type (double, unsigned, unsigned long, 64 bit, signed)."""
    readers: dict[int, Callable[[Any], Any]] = {
        0: lambda v: v.dVal, 1: lambda v: v.uiVal, 2: lambda v: v.ulVal, 3: lambda v: v.ullVal, 4: lambda v: v.sllVal,
        5: lambda v: v.siVal, 6: lambda v: v.usVal,
    }  # fmt: skip
    return int(readers[field.valueType](field.value))


def _load_binding() -> Any:
    with warnings.catch_warnings():
        # The retired distribution `pynvml` puts a warning in front of this import and blames the importing program.
        warnings.simplefilter("ignore", FutureWarning)
        import pynvml
    return pynvml
