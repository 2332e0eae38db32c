"""GPUs as NVML reports them. `None` means that the device or driver does not report the value; it is drawn as `–`."""

from typing import Literal

import msgspec

GpuAvailability = Literal[
    "available", "no_driver", "driver_not_loaded", "version_mismatch", "no_permission", "no_devices", "failed",
    "unsupported_vendor",
]  # fmt: skip


class GpuStatus(msgspec.Struct, frozen=True, kw_only=True):
    """Whether GPUs can be watched here, and if not, why and what to do."""

    taken_at: float
    availability: GpuAvailability
    message: str
    remedy: str = ""
    driver_version: str | None = None
    library_version: str | None = None


class Gpu(msgspec.Struct, frozen=True, kw_only=True):
    """What does not change while the driver is loaded."""

    uuid: str
    index: int
    name: str
    pci_bus_id: str | None = None
    memory_total_bytes: int | None = None
    unified_memory: bool = False
    power_limit_w: float | None = None
    sm_clock_max_mhz: int | None = None
    mig_enabled: bool | None = None
    ecc_enabled: bool | None = None
    persistence: bool | None = None
    seen_at: float
    lost_at: float | None = None
    """When the GPU fell off the bus or was removed; the last sample stays, and looks stale."""


class GpuSample(msgspec.Struct, frozen=True, kw_only=True):
    """One GPU at one moment."""

    uuid: str
    taken_at: float
    utilization_percent: float | None = None
    memory_used_bytes: int | None = None
    memory_reserved_bytes: int | None = None
    memory_total_bytes: int | None = None
    power_w: float | None = None
    power_limit_w: float | None = None
    temperature_c: float | None = None
    memory_temperature_c: float | None = None
    sm_clock_mhz: int | None = None
    memory_clock_mhz: int | None = None
    throttle_reasons: int | None = None
    """NVML's clocks-event bit mask, as reported."""
    fan_percent: float | None = None


class GpuProcess(msgspec.Struct, frozen=True, kw_only=True):
    """A process that holds memory on a GPU."""

    uuid: str
    pid: int
    taken_at: float
    memory_bytes: int | None = None
    user: str | None = None
    command: str | None = None
    """`None` where the process lives in another PID namespace."""
    started_at: float | None = None
    job_id: int | None = None
