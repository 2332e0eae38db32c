"""NVML's clocks-event reasons in words. Bits: NVML reference, R580."""

from typing import Literal

import msgspec

Level = Literal["normal", "warning", "alarm"]


class Reason(msgspec.Struct, frozen=True):
    """One bit of the mask."""

    bit: int
    words: str
    level: Level


REASONS = (
    Reason(0x1, "idle", "normal"),
    Reason(0x2, "application clocks set", "normal"),
    # At full load a healthy H200 reports this all the time: 690 of 700 W, 1,500 of 1,980 MHz.
    Reason(0x4, "at the power limit", "normal"),
    Reason(0x8, "hardware slowdown", "alarm"),
    Reason(0x10, "sync boost", "normal"),
    Reason(0x20, "driver slows it down for heat", "warning"),
    Reason(0x40, "hardware slows it down for heat", "alarm"),
    Reason(0x80, "power brake", "alarm"),
    Reason(0x100, "display clocks set", "normal"),
)


def reasons(mask: int | None) -> tuple[Reason, ...]:
    """The reasons in a mask, gravest first. Bits that have no name yet are kept as a number."""
    if mask is None:
        return ()
    known = sum(reason.bit for reason in REASONS)
    found = [reason for reason in REASONS if mask & reason.bit]
    if unknown := mask & ~known:
        found.append(Reason(unknown, f"unknown reason {unknown:#x}", "normal"))
    grades = ("alarm", "warning", "normal")
    return tuple(sorted(found, key=lambda reason: grades.index(reason.level)))


def throttle_words(mask: int | None) -> str | None:
    """All reasons in one line; `None` where the device does not report them, empty where nothing holds it back."""
    return None if mask is None else ", ".join(reason.words for reason in reasons(mask))
