"""Why GPUs cannot be watched here, in words, with what to do about it."""

import re
from pathlib import Path

from state.records.gpus import GpuAvailability, GpuStatus

_SYSTEM = Path("/")
_DISPLAY_CLASSES = ("0x03", "0x12")
_VENDORS = {"0x1002": "AMD", "0x8086": "Intel"}


class DriverUnavailable(Exception):
    """NVML cannot be used. `status` holds the reason and the remedy, without a time."""

    def __init__(self, status: GpuStatus) -> None:
        super().__init__(status.message)
        self.status = status


def explain(code: int, text: str, system: Path = _SYSTEM) -> GpuStatus:
    """What an error of `nvmlInit` means on this machine.

    Args:
        code: NVML's return code.
        text: NVML's own words, for codes that have no better ones here.
        system: Root of the file system to look at.
    """
    if code == 12:
        return _no_library(system)
    if code == 18:
        return _mismatch(system)
    known: dict[int, tuple[GpuAvailability, str, str]] = {
        9: (
            "driver_not_loaded",
            "The NVIDIA driver is installed but not loaded.",
            "Run `nvidia-modprobe`; after a kernel update look at `dkms status`.",
        ),
        4: (
            "no_permission",
            "This account may not open the NVIDIA devices.",
            "Look at the owner and mode of /dev/nvidia*.",
        ),
    }
    availability, message, remedy = known.get(code, ("failed", f"NVML could not start: {text}.", "Run `nvidia-smi`."))
    return _status(availability, message, remedy)


def no_devices(driver_version: str, library_version: str) -> GpuStatus:
    """The driver answers and lists no GPU."""
    return GpuStatus(
        taken_at=0.0,
        availability="no_devices",
        message="The NVIDIA driver is loaded but shows no GPU to this process.",
        remedy="In a container, start it with `--gpus all`; on the host, look at `lspci` and `dmesg`.",
        driver_version=driver_version,
        library_version=library_version,
    )


def other_vendor(system: Path = _SYSTEM) -> str | None:
    """`AMD` or `Intel` where such an accelerator is on the PCI bus. Intel's graphics in a processor do not count."""
    for device in sorted((system / "sys/bus/pci/devices").glob("*")):
        vendor = _VENDORS.get(_first_line(device / "vendor"))
        display_class = _first_line(device / "class")
        if vendor == "Intel" and display_class.startswith("0x0300"):
            continue
        if vendor and display_class.startswith(_DISPLAY_CLASSES):
            return vendor
    return None


def kernel_driver_version(system: Path = _SYSTEM) -> str | None:
    """Version of the loaded kernel module, from `/proc/driver/nvidia/version`."""
    text = _first_line(system / "proc/driver/nvidia/version")
    match = re.search(r"\b(\d+\.\d+(?:\.\d+)?)\b", text)
    return match.group(1) if match else None


def installed_library_version(system: Path = _SYSTEM) -> str | None:
    """Version in the file name that `libnvidia-ml.so.1` points to."""
    for folder in ("usr/lib/x86_64-linux-gnu", "usr/lib/aarch64-linux-gnu", "usr/lib64", "usr/lib"):
        link = system / folder / "libnvidia-ml.so.1"
        if link.is_symlink():
            return link.readlink().name.partition(".so.")[2] or None
    return None


def _no_library(system: Path) -> GpuStatus:
    if vendor := other_vendor(system):
        return _status(
            "unsupported_vendor",
            f"{vendor} GPUs are here; they are not supported yet. Everything else works.",
            "Watch them with the vendor's own tool (`rocm-smi`, `xpu-smi`) for now.",
        )
    if kernel_driver_version(system):
        return _status(
            "no_driver",
            "The NVIDIA kernel driver is loaded, but libnvidia-ml.so.1 is not to be found.",
            "In a container, set NVIDIA_DRIVER_CAPABILITIES=compute,utility.",
        )
    return _status("no_driver", "No NVIDIA driver here: GPU panes are off; everything else works.")


def _mismatch(system: Path) -> GpuStatus:
    kernel, library = kernel_driver_version(system), installed_library_version(system)
    return GpuStatus(
        taken_at=0.0,
        availability="version_mismatch",
        message=f"The loaded NVIDIA driver ({kernel or 'version unknown'}) and its library "
        f"({library or 'version unknown'}) differ: an upgrade replaced one of them.",
        remedy="Running jobs keep working. When the host is idle, reboot or reload the nvidia module, "
        "then run `alula engine stop`; the console starts a new engine.",
        driver_version=kernel,
        library_version=library,
    )


def _status(availability: GpuAvailability, message: str, remedy: str = "") -> GpuStatus:
    return GpuStatus(taken_at=0.0, availability=availability, message=message, remedy=remedy)


def _first_line(path: Path) -> str:
    try:
        return path.read_text(errors="replace").partition("\n")[0]
    except OSError:
        return ""
