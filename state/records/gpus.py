"""GPUs as NVML reports them. `None` means that the device or driver does not report the value; it is drawn as `–`."""

from typing import Literal

import msgspec

GpuAvailability = Literal[
    "available", "no_driver", "driver_not_loaded", "version_mismatch", "no_permission", "no_devices", "failed",
    "unsupported_vendor",
]  # fmt: skip
Absence = Literal["not_supported", "no_permission", "no_data", "lost", "function_missing"]
GpuEventKind = Literal["xid", "ecc", "lost", "returned", "driver"]


class GpuStatus(msgspec.Struct, frozen=True, kw_only=True):
    """Whether GPUs can be watched here, and if not, why and what to do."""

    taken_at: float
    availability: GpuAvailability
    message: str
    remedy: str = ""
    driver_version: str | None = None
    library_version: str | None = None


class Gpu(msgspec.Struct, frozen=True, kw_only=True):
    """What does not change while the driver is loaded. A MIG instance is a `Gpu` whose `parent_uuid` is set."""

    uuid: str
    index: int
    """NVML's index of the GPU; for a MIG instance, its index within the parent."""
    name: str
    pci_bus_id: str | None = None
    memory_total_bytes: int | None = None
    unified_memory: bool = False
    """Board and host share one memory; `memory_total_bytes` is then the host's."""
    power_limit_w: float | None = None
    sm_clock_max_mhz: int | None = None
    mig_enabled: bool | None = None
    ecc_enabled: bool | None = None
    persistence: bool | None = None
    seen_at: float
    lost_at: float | None = None
    """When the GPU fell off the bus or was removed; the last sample stays, and looks stale."""
    parent_uuid: str | None = None
    slowdown_c: float | None = None
    """Temperature at which the hardware slows itself down."""
    virtualization: str | None = None
    """`passthrough`, `vgpu`, `host_vgpu` or `host_vsga`; `None` on bare metal."""

    @property
    def shown_name(self) -> str:
        """Its name, and what is out of the ordinary about it."""
        kind = " (vGPU)" if self.virtualization == "vgpu" else " (unified memory)" if self.unified_memory else ""
        return self.name + kind


class GpuSample(msgspec.Struct, frozen=True, kw_only=True):
    """One GPU at one moment, or over a span where it comes from a roll-up: means, the highest temperatures, and every
    throttle reason that occurred."""

    uuid: str
    taken_at: float
    utilization_percent: float | None = None
    memory_used_bytes: int | None = None
    """Without what the driver reserves, except on drivers that cannot tell the two apart. On a board with unified
    memory, what its processes hold."""
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


class GpuHealth(msgspec.Struct, frozen=True, kw_only=True):
    """What is read every ten seconds: errors, links, and why a value is absent."""

    uuid: str
    taken_at: float
    ecc_corrected: int | None = None
    """Since the driver was loaded."""
    ecc_uncorrected: int | None = None
    """Since the driver was loaded."""
    remapped_rows: int | None = None
    """Memory rows replaced by spare ones, over the GPU's life."""
    remap_pending: bool | None = None
    """A row waits for a GPU reset to be replaced."""
    remap_failed: bool | None = None
    """No spare row was left."""
    recovery_action: int | None = None
    """NVML's own next step for the operator; 0 is none."""
    energy_j: float | None = None
    """Since the driver was loaded."""
    pcie_generation: int | None = None
    pcie_width: int | None = None
    pcie_sent_bytes_per_s: float | None = None
    pcie_received_bytes_per_s: float | None = None
    nvlinks_active: int | None = None
    nvlinks_total: int | None = None
    nvlink_sent_bytes_per_s: float | None = None
    nvlink_received_bytes_per_s: float | None = None
    absences: dict[str, Absence] = {}
    """Field of this record or of `GpuSample`, or `processes` or `xid`, to the reason why it is absent."""


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


class GpuEvent(msgspec.Struct, frozen=True, kw_only=True):
    """Something that happened to a GPU."""

    id: int = 0
    uuid: str
    at: float
    kind: GpuEventKind
    code: int | None = None
    """The XID, for `xid`."""
    message: str
