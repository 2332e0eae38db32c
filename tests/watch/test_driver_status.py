"""Why GPUs cannot be watched, told from the files of a host."""

from pathlib import Path

import pytest

from engine.watch.driver_status import explain, other_vendor
from engine.watch.throttle import reasons, throttle_words
from engine.watch.xid import is_application_fault, xid_remedy, xid_words

LIBRARY_NOT_FOUND, MISMATCH = 12, 18


def pci_device(system: Path, vendor: str, display_class: str) -> None:
    folder = system / "sys/bus/pci/devices/0000:03:00.0"
    folder.mkdir(parents=True)
    (folder / "vendor").write_text(vendor + "\n")
    (folder / "class").write_text(display_class + "\n")


@pytest.mark.parametrize(
    ("vendor", "display_class", "name"), [("0x1002", "0x038000", "AMD"), ("0x8086", "0x038000", "Intel")]
)
def test_other_vendors_are_named_and_said_to_be_unsupported(
    tmp_path: Path, vendor: str, display_class: str, name: str
) -> None:
    pci_device(tmp_path, vendor, display_class)
    status = explain(LIBRARY_NOT_FOUND, "", tmp_path)
    assert status.availability == "unsupported_vendor"
    assert name in status.message and "not supported yet" in status.message


def test_graphics_inside_an_intel_processor_is_no_accelerator(tmp_path: Path) -> None:
    pci_device(tmp_path, "0x8086", "0x030000")
    assert other_vendor(tmp_path) is None
    assert explain(LIBRARY_NOT_FOUND, "", tmp_path).availability == "no_driver"


def test_a_mismatch_names_both_versions(tmp_path: Path) -> None:
    proc = tmp_path / "proc/driver/nvidia"
    proc.mkdir(parents=True)
    (proc / "version").write_text("NVRM version: NVIDIA UNIX x86_64 Kernel Module  570.86.15  Fri Jan 24\nGCC 12\n")
    libraries = tmp_path / "usr/lib/x86_64-linux-gnu"
    libraries.mkdir(parents=True)
    (libraries / "libnvidia-ml.so.1").symlink_to("libnvidia-ml.so.580.159.04")
    status = explain(MISMATCH, "", tmp_path)
    assert (status.driver_version, status.library_version) == ("570.86.15", "580.159.04")
    assert "570.86.15" in status.message and "580.159.04" in status.message


def test_a_container_without_the_utility_capability(tmp_path: Path) -> None:
    proc = tmp_path / "proc/driver/nvidia"
    proc.mkdir(parents=True)
    (proc / "version").write_text("NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.159.04  Release\n")
    assert "NVIDIA_DRIVER_CAPABILITIES" in explain(LIBRARY_NOT_FOUND, "", tmp_path).remedy


def test_an_unknown_error_keeps_the_drivers_own_words() -> None:
    assert "Unknown Error" in explain(999, "Unknown Error").message


def test_the_power_limit_is_normal_and_the_gravest_reason_comes_first() -> None:
    assert [reason.level for reason in reasons(0x4)] == ["normal"]
    assert throttle_words(0x4 | 0x20 | 0x40) == (
        "hardware slows it down for heat, driver slows it down for heat, at the power limit"
    )
    assert (throttle_words(None), throttle_words(0)) == (None, "")
    assert throttle_words(0x400) == "unknown reason 0x400"


def test_a_programs_fault_is_told_from_the_gpus() -> None:
    assert is_application_fault(31) and not is_application_fault(79)
    assert "log of the job" in xid_remedy(31) and "reset" in xid_remedy(79)
    assert xid_words(9999) == "XID 9999"
