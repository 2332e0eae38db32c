"""What can be wrong with GPUs. Pure."""

from collections.abc import Iterator

from engine.watch.alert_state import Symptom
from engine.watch.latest import Snapshot
from engine.watch.throttle import reasons
from engine.watch.xid import is_application_fault, xid_remedy
from state.records.gpus import Gpu, GpuHealth, GpuSample

RULES = ("gpu-lost", "gpu-silent", "gpu-throttled", "gpu-hot", "gpu-xid", "gpu-ecc", "gpu-recovery")
SILENT_S = 20.0
_HOT_MARGIN_C = 2.0
_HOT_MEMORY_C = 95.0
_ACTIONS = {
    1: "reset the GPU", 2: "reboot the node", 3: "drain peer-to-peer traffic", 4: "drain and reset the GPU",
    5: "recover the IMEX domain", 6: "reset the bus", 7: "reboot the system",
}  # fmt: skip


def gpu_symptoms(snapshot: Snapshot) -> Iterator[Symptom]:
    """Lost, slowed down by hardware, hot, XID, memory errors, and the driver's own call for help."""
    for uuid, gpu in snapshot.gpus.items():
        subject = f"gpu {gpu.index}"
        if gpu.lost_at is not None:
            yield _lost(subject, gpu)
            continue
        sample = snapshot.gpu_samples.get(uuid)
        if sample and snapshot.now - sample.taken_at > SILENT_S:
            yield _silent(subject, gpu)
        elif sample:
            yield from _running_state(subject, gpu, sample)
        if health := snapshot.gpu_health.get(uuid):
            yield from _health(subject, health)
    yield from _xids(snapshot)


def _lost(subject: str, gpu: Gpu) -> Symptom:
    return Symptom(
        rule="gpu-lost",
        subject=subject,
        severity="error",
        title=f"GPU {gpu.index} is lost",
        cause=f"{gpu.name} at {gpu.pci_bus_id or 'an unknown address'} no longer answers the driver.",
        remedy="Look at `dmesg` for its XID; reset it (`nvidia-smi --gpu-reset`) or reboot. Start its jobs anew.",
        clear_after_s=5,
    )


def _silent(subject: str, gpu: Gpu) -> Symptom:
    return Symptom(
        rule="gpu-silent",
        subject=subject,
        severity="error",
        title=f"GPU {gpu.index} gives no more samples",
        cause="A call to the driver has not come back; the figures shown are old.",
        remedy="Try `nvidia-smi`: if it hangs too, look at `dmesg`, and reboot when work can be moved away.",
        clear_after_s=5,
    )


def _running_state(subject: str, gpu: Gpu, sample: GpuSample) -> Iterator[Symptom]:
    alarms = [reason.words for reason in reasons(sample.throttle_reasons) if reason.level == "alarm"]
    if alarms:
        yield Symptom(
            rule="gpu-throttled",
            subject=subject,
            severity="warning",
            title=f"GPU {gpu.index} is throttled: {alarms[0]}",
            cause=f"The hardware holds the clocks down ({', '.join(alarms)}); "
            f"SM clock {sample.sm_clock_mhz or '–'} of {gpu.sm_clock_max_mhz or '–'} MHz.",
            remedy="Look at cooling and the power supply of the host; work on this GPU runs slower meanwhile.",
            raise_after_s=5,
            clear_after_s=60,
        )
    limit = (gpu.slowdown_c - _HOT_MARGIN_C) if gpu.slowdown_c else None
    core, memory = sample.temperature_c, sample.memory_temperature_c
    if (limit and core is not None and core >= limit) or (memory is not None and memory >= _HOT_MEMORY_C):
        yield Symptom(
            rule="gpu-hot",
            subject=subject,
            severity="warning",
            title=f"GPU {gpu.index} is hot: core {_degrees(core)}, memory {_degrees(memory)}",
            cause=f"The core slows itself down at {_degrees(gpu.slowdown_c)}.",
            remedy="Look at fans, air flow and the room; a lower power limit (`nvidia-smi -pl`) helps at once.",
            raise_after_s=15,
            clear_after_s=60,
        )


def _health(subject: str, health: GpuHealth) -> Iterator[Symptom]:
    if health.ecc_uncorrected or health.remap_failed or health.remap_pending:
        what = (
            "no spare memory row is left" if health.remap_failed
            else "a memory row waits to be remapped" if health.remap_pending
            else f"{health.ecc_uncorrected} uncorrected memory errors since the driver was loaded"
        )  # fmt: skip
        yield Symptom(
            rule="gpu-ecc",
            subject=subject,
            severity="error",
            title=f"{subject.upper()}: {what}",
            cause="Results computed before the error was reported may be wrong.",
            remedy="Replace the GPU."
            if health.remap_failed
            else "Reset the GPU when it is idle; if it comes back, replace it.",
        )
    if health.recovery_action:
        yield Symptom(
            rule="gpu-recovery",
            subject=subject,
            severity="error",
            title=f"{subject.upper()}: the driver asks to {_ACTIONS.get(health.recovery_action, 'have it recovered')}",
            cause="NVML reports this recovery action for the GPU.",
            remedy=f"When work can be moved away: {_ACTIONS.get(health.recovery_action, 'see `nvidia-smi -q`')}.",
        )


def _xids(snapshot: Snapshot) -> Iterator[Symptom]:
    for event in snapshot.gpu_events:
        if event.kind != "xid" or event.code is None or is_application_fault(event.code):
            continue
        gpu = snapshot.gpus.get(event.uuid)
        name = f"gpu {gpu.index}" if gpu else "an unknown gpu"
        yield Symptom(
            rule="gpu-xid",
            subject=name,
            severity="error",
            title=f"{name.upper()}: {event.message}",
            cause="The driver reported it as an XID event.",
            remedy=xid_remedy(event.code),
            clear_after_s=0,
        )


def _degrees(value: float | None) -> str:
    return "–" if value is None else f"{value:.0f} °C"
