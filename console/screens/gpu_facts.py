"""What is read seldom of one GPU: links, errors, energy, modes, and what has happened to it."""

import time
from collections.abc import Sequence

from textual.content import Content

from state.outside_text import plain_line
from state.records.gpus import Gpu, GpuEvent, GpuHealth
from widgets import figures
from widgets.facts import Fact

EVENTS_SHOWN = 3
JOULES_OF_KWH = 3.6e6


def health_facts(gpu: Gpu, health: GpuHealth | None) -> tuple[Fact, ...]:
    """Links, memory errors, modes; nothing before the first slow reading."""
    if health is None or gpu.parent_uuid is not None:
        return ()
    return (
        ("PCIe", _pcie(health)),
        ("NVLink", _nvlink(health)),
        ("memory", _errors(health)),
        ("modes", _modes(gpu, health)),
    )


def event_facts(events: Sequence[GpuEvent]) -> tuple[Fact, ...]:
    """The newest events, newest first."""
    return tuple(
        ("event", plain_line(f"{figures.age(time.time() - event.at)}   {event.message}", 200))
        for event in events[:EVENTS_SHOWN]
    )


def _pcie(health: GpuHealth) -> str:
    link = figures.ABSENT
    if health.pcie_generation is not None and health.pcie_width is not None:
        link = f"{health.pcie_generation}.0 x{health.pcie_width}"
    return link + _rates(health.pcie_sent_bytes_per_s, health.pcie_received_bytes_per_s)


def _nvlink(health: GpuHealth) -> str:
    if not health.nvlinks_total and health.nvlinks_active is None:
        return figures.ABSENT
    of = f" of {health.nvlinks_total}" if health.nvlinks_total else ""
    rates = _rates(health.nvlink_sent_bytes_per_s, health.nvlink_received_bytes_per_s)
    return f"{health.nvlinks_active}{of} up{rates}"


def _rates(sent: float | None, received: float | None) -> str:
    if sent is None and received is None:
        return ""
    return f"   sent {figures.byte_rate(sent)}, received {figures.byte_rate(received)}"


def _errors(health: GpuHealth) -> Content:
    corrected, uncorrected = _count(health.ecc_corrected), _count(health.ecc_uncorrected)
    bad = bool(health.ecc_uncorrected or health.remap_pending or health.remap_failed or health.recovery_action)
    text = f"ECC corrected {corrected}, uncorrected {uncorrected}; remapped rows {_count(health.remapped_rows)}"
    text += ", one waits for a reset" if health.remap_pending else ""
    text += ", no spare row was left" if health.remap_failed else ""
    text += f"; the driver asks for recovery step {health.recovery_action}" if health.recovery_action else ""
    return Content.styled(text, "$error" if bad else "")


def _modes(gpu: Gpu, health: GpuHealth) -> str:
    modes = (("ECC", gpu.ecc_enabled), ("MIG", gpu.mig_enabled), ("persistence", gpu.persistence))
    words = [f"{name} {figures.ABSENT if value is None else 'on' if value else 'off'}" for name, value in modes]
    words += [gpu.virtualization.replace("_", " ")] if gpu.virtualization else []
    if health.energy_j is not None:
        words.append(f"{health.energy_j / JOULES_OF_KWH:.2f} kWh since the driver was loaded")
    hidden = sorted(name for name, reason in health.absences.items() if reason == "no_permission")
    words += [f"hidden from this account: {', '.join(hidden)}"] if hidden else []
    return ", ".join(words)


def _count(value: int | None) -> str:
    return figures.ABSENT if value is None else str(value)
