"""XID numbers in words. Meanings: NVIDIA's XID catalogue (r580); which ones point at a program rather than the GPU:
NVIDIA k8s-device-plugin 0.17, internal/rm/health.go."""

_APPLICATION = frozenset({13, 31, 43, 45, 68, 109})
_MEANINGS = {
    13: "a program's kernel failed",
    31: "a program touched memory that is not its own",
    43: "a program's channel was stopped",
    45: "a program's work was cleared after an earlier error",
    48: "double-bit memory error",
    61: "internal micro-controller breakpoint",
    62: "internal micro-controller halt",
    63: "a memory row is to be remapped",
    64: "a memory row could not be remapped",
    68: "video processor exception in a program",
    74: "NVLink error",
    79: "the GPU has fallen off the bus",
    92: "high rate of corrected memory errors",
    94: "contained memory error: only the program that met it is affected",
    95: "uncontained memory error: all programs on the GPU are affected",
    109: "a program's context switch timed out",
    119: "the GPU's system processor (GSP) timed out",
    120: "the GPU's system processor (GSP) failed",
    140: "uncorrected memory error",
}
_RESETS = frozenset({48, 62, 64, 74, 79, 95, 119, 120, 140})


def is_application_fault(xid: int) -> bool:
    """Whether this XID speaks of a program's fault, not of the GPU's health."""
    return xid in _APPLICATION


def xid_words(xid: int) -> str:
    """What an XID means; the bare number where it is not in the table."""
    meaning = _MEANINGS.get(xid)
    return f"XID {xid}: {meaning}" if meaning else f"XID {xid}"


def xid_remedy(xid: int) -> str:
    """What to do about it."""
    if is_application_fault(xid):
        return "Look at the log of the job that ran on this GPU."
    if xid in _RESETS:
        return (
            "Move work off this GPU and reset it (`nvidia-smi --gpu-reset`), or reboot; if it comes back, replace it."
        )
    return (
        "Look at `dmesg` for the line that names this GPU; if it comes back, run NVIDIA's diagnostics (`dcgmi diag`)."
    )
