"""From NVML's calls to records: what a GPU is, how it is now, and how it fares. Costs: measured on an H200, R580."""

import time
from typing import Any

import psutil

from engine.watch.nvml import Device
from state.records.gpus import Gpu, GpuHealth, GpuSample

MEMORY_V2 = 0x02000028
_POWER_INSTANT, _MEMORY_TEMPERATURE, _RECOVERY_ACTION = 186, 82, 230
_NVLINK_SENT, _NVLINK_RECEIVED, _ALL_LINKS = 138, 139, 0xFFFFFFFF
_NVLINKS_MAX = 18
_CLOCK_SM, _CLOCK_MEMORY = 1, 2
_VIRTUALIZATION = {1: "passthrough", 2: "vgpu", 3: "host_vgpu", 4: "host_vsga"}
_MIG_LACKS = ("utilization_percent", "power_w", "temperature_c", "memory_temperature_c", "sm_clock_mhz",
              "memory_clock_mhz", "throttle_reasons", "fan_percent")  # fmt: skip
_REPORTED = {*GpuSample.__struct_fields__, *GpuHealth.__struct_fields__, "processes", "xid"}
_FAST_FIELDS = {"power_w": _POWER_INSTANT, "memory_temperature_c": _MEMORY_TEMPERATURE}


def read_gpu(device: Device, now: float) -> Gpu:
    """What does not change while the driver is loaded: about 4 ms, so only at the start."""
    _used, _reserved, total = read_memory(device)
    unified = total is None and device.parent is None
    mig, ecc = device.read("mig", "nvmlDeviceGetMigMode"), device.read("ecc", "nvmlDeviceGetEccMode")
    pci = device.read("pci", "nvmlDeviceGetPciInfo")
    limit = device.read("power_limit_w", "nvmlDeviceGetEnforcedPowerLimit")
    persistence = device.read("persistence", "nvmlDeviceGetPersistenceMode")
    return Gpu(
        uuid=device.uuid,
        index=device.index,
        name=str(device.read("name", "nvmlDeviceGetName") or "unnamed GPU"),
        pci_bus_id=_text(pci.busId) if pci is not None else None,
        memory_total_bytes=psutil.virtual_memory().total if unified else total,
        unified_memory=unified,
        power_limit_w=_thousandth(limit),
        sm_clock_max_mhz=device.read("sm_clock_max_mhz", "nvmlDeviceGetMaxClockInfo", _CLOCK_SM),
        mig_enabled=bool(mig[0]) if mig else None,
        ecc_enabled=bool(ecc[0]) if ecc else None,
        persistence=None if persistence is None else bool(persistence),
        seen_at=now,
        parent_uuid=device.parent.uuid if device.parent else None,
        slowdown_c=device.read("slowdown_c", "nvmlDeviceGetTemperatureThreshold", 1),
        virtualization=_VIRTUALIZATION.get(device.read("virtualization", "nvmlDeviceGetVirtualizationMode") or 0),
    )


def read_sample(device: Device, now: float) -> GpuSample:
    """The GPU now, in about 60 µs of driver time. Of a MIG instance NVML tells the memory alone."""
    used, reserved, total = read_memory(device)
    if device.parent is not None:
        device.note_unsupported(*_MIG_LACKS)
        return GpuSample(uuid=device.uuid, taken_at=now, memory_used_bytes=used, memory_reserved_bytes=reserved,
                         memory_total_bytes=total)  # fmt: skip
    if total is None:
        used = _memory_of_processes(device)
    utilization = device.read("utilization_percent", "nvmlDeviceGetUtilizationRates")
    fields = device.read_fields(_FAST_FIELDS)
    power = fields.get("power_w")
    if power is None:
        power = device.read("power_w", "nvmlDeviceGetPowerUsage")
    return GpuSample(
        uuid=device.uuid,
        taken_at=now,
        utilization_percent=None if utilization is None else utilization.gpu,
        memory_used_bytes=used,
        memory_reserved_bytes=reserved,
        memory_total_bytes=total,
        power_w=_thousandth(power),
        power_limit_w=_thousandth(device.read("power_limit_w", "nvmlDeviceGetEnforcedPowerLimit")),
        temperature_c=device.read("temperature_c", "nvmlDeviceGetTemperature", 0),
        memory_temperature_c=fields.get("memory_temperature_c"),
        sm_clock_mhz=device.read("sm_clock_mhz", "nvmlDeviceGetClockInfo", _CLOCK_SM),
        memory_clock_mhz=device.read("memory_clock_mhz", "nvmlDeviceGetClockInfo", _CLOCK_MEMORY),
        throttle_reasons=device.read("throttle_reasons", "nvmlDeviceGetCurrentClocksEventReasons"),
        fan_percent=device.read("fan_percent", "nvmlDeviceGetFanSpeed"),
    )


def read_memory(device: Device) -> tuple[int | None, int | None, int | None]:
    """Used, reserved and total bytes. A total of 0 is how some unified-memory boards say that they have none."""
    memory = device.read("memory_reserved_bytes", "nvmlDeviceGetMemoryInfo", MEMORY_V2)
    reserved = None if memory is None else memory.reserved
    if memory is None:
        memory = device.read("memory_used_bytes", "nvmlDeviceGetMemoryInfo")
    if memory is None or memory.total == 0:
        return None, None, None
    return memory.used, reserved, memory.total


def _memory_of_processes(device: Device) -> int | None:
    """What stands for used memory on a board that shares the host's: free host memory would count the page cache."""
    processes = device.read("processes", "nvmlDeviceGetComputeRunningProcesses")
    return None if processes is None else sum(process.usedGpuMemory or 0 for process in processes)


class SlowReader:
    """The ten-second reading of one GPU. Keeps the counters of the last one, to make rates of them."""

    def __init__(self, device: Device) -> None:
        self._device = device
        self._links: tuple[float, int, int] | None = None

    def read(self, now: float, *, with_energy: bool) -> GpuHealth:
        """About 45 ms, nearly all of it the driver's own wait of 20 ms for each PCIe direction.

        Args:
            now: The time to put on it.
            with_energy: Read total energy too, which takes 3 ms and at worst 18.
        """
        device = self._device
        rows = device.read("remapped_rows", "nvmlDeviceGetRemappedRows")
        fields = device.read_fields({"recovery_action": _RECOVERY_ACTION})
        energy = device.read("energy_j", "nvmlDeviceGetTotalEnergyConsumption") if with_energy else None
        active = self._active_links()
        sent, received = self._link_rates() if active else (None, None)
        return GpuHealth(
            uuid=device.uuid,
            taken_at=now,
            ecc_corrected=device.read("ecc_corrected", "nvmlDeviceGetTotalEccErrors", 0, 0),
            ecc_uncorrected=device.read("ecc_uncorrected", "nvmlDeviceGetTotalEccErrors", 1, 0),
            remapped_rows=None if rows is None else rows[0] + rows[1],
            remap_pending=None if rows is None else bool(rows[2]),
            remap_failed=None if rows is None else bool(rows[3]),
            recovery_action=fields.get("recovery_action"),
            energy_j=_thousandth(energy),
            pcie_generation=device.read("pcie_generation", "nvmlDeviceGetCurrPcieLinkGeneration"),
            pcie_width=device.read("pcie_width", "nvmlDeviceGetCurrPcieLinkWidth"),
            pcie_sent_bytes_per_s=_kilobytes(device.read("pcie_sent_bytes_per_s", "nvmlDeviceGetPcieThroughput", 0)),
            pcie_received_bytes_per_s=_kilobytes(
                device.read("pcie_received_bytes_per_s", "nvmlDeviceGetPcieThroughput", 1)
            ),
            nvlinks_active=None if active is None else sum(active),
            nvlinks_total=None if active is None else len(active),
            nvlink_sent_bytes_per_s=sent,
            nvlink_received_bytes_per_s=received,
            absences={name: why for name, why in device.absences.items() if name in _REPORTED},
        )

    def _active_links(self) -> list[bool] | None:
        states = []
        for link in range(_NVLINKS_MAX):
            state = self._device.read("nvlinks_active" if link == 0 else "nvlink", "nvmlDeviceGetNvLinkState", link)
            if state is None:
                break
            states.append(bool(state))
        return states or None

    def _link_rates(self) -> tuple[float | None, float | None]:
        counters = self._device.read_fields({
            "nvlink_sent_bytes_per_s": (_NVLINK_SENT, _ALL_LINKS),
            "nvlink_received_bytes_per_s": (_NVLINK_RECEIVED, _ALL_LINKS),
        })  # fmt: skip
        if len(counters) < 2:
            return None, None
        sent, received = counters.values()
        before, self._links = self._links, (time.monotonic(), sent, received)
        if before is None or sent < before[1] or received < before[2]:
            return None, None
        elapsed = self._links[0] - before[0]
        return (sent - before[1]) * 1024 / elapsed, (received - before[2]) * 1024 / elapsed


def _thousandth(value: int | None) -> float | None:
    return None if value is None else value / 1000


def _kilobytes(value: int | None) -> float | None:
    return None if value is None else value * 1024.0


def _text(value: Any) -> str:
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)
