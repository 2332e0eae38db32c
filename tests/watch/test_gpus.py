"""GPUs through the real nvidia-ml-py, on a shared object with values of a real H200 and faults of ours."""

import os
from collections.abc import Callable
from pathlib import Path

from engine.watch.readings import Readings
from state.records.gpus import Gpu, GpuSample
from tests.watch.fake_gpus import WatchedHost

Watch = Callable[[str], WatchedHost]
GPU_0, GPU_3 = "GPU-00000000-0000-0000-0000-000000000000", "GPU-00000000-0000-0000-0000-000000000003"


def sample_of(uuid: str) -> Callable[[Readings], GpuSample | None]:
    return lambda readings: next((s for s in reversed(readings.gpu_samples) if s.uuid == uuid), None)


def gpu_of(uuid: str) -> Callable[[Readings], Gpu | None]:
    return lambda readings: next((g for g in reversed(readings.gpus) if g.uuid == uuid), None)


def test_every_value_arrives_in_its_own_field_and_unit(watch: Watch) -> None:
    host = watch("gpus 2\npcie_ms 1\n")
    sample = host.wait_for(sample_of(GPU_0))
    assert sample == GpuSample(
        uuid=GPU_0, taken_at=sample.taken_at, utilization_percent=100, memory_used_bytes=1059913728,
        memory_reserved_bytes=644939776, memory_total_bytes=150754820096, power_w=696.15, power_limit_w=700.0,
        temperature_c=64, memory_temperature_c=52, sm_clock_mhz=1500, memory_clock_mhz=3201, throttle_reasons=4,
        fan_percent=30,
    )  # fmt: skip
    gpu = host.wait_for(gpu_of(GPU_0))
    assert (gpu.name, gpu.pci_bus_id, gpu.sm_clock_max_mhz) == ("NVIDIA H200", "00000000:18:00.0", 1980)
    assert (gpu.ecc_enabled, gpu.mig_enabled, gpu.persistence, gpu.slowdown_c) == (True, False, True, 89)
    (health, *_) = host.wait_for(lambda readings: readings.gpu_health)
    assert (health.pcie_generation, health.pcie_width, health.nvlinks_active) == (5, 16, 18)
    assert (health.pcie_sent_bytes_per_s, health.pcie_received_bytes_per_s) == (7673 * 1024, 16770 * 1024)
    assert (health.energy_j, health.recovery_action, health.absences) == (4787.834, 0, {})


def test_the_status_names_count_and_versions(watch: Watch) -> None:
    status = watch("gpus 8\n").wait_for(lambda readings: readings.gpu_status)
    assert status.availability == "available"
    assert (status.message, status.library_version) == ("8 GPUs, driver 580.159.04", "13.580.159.04")


def test_what_a_device_does_not_report_is_absent_with_its_reason(watch: Watch) -> None:
    host = watch("gpus 1\npcie_ms 1\nlacks 0 fan\nlacks 0 power\nlacks 0 memory_temperature\nlacks 0 nvlink\n")
    sample = host.wait_for(sample_of(GPU_0))
    assert (sample.fan_percent, sample.power_w, sample.memory_temperature_c) == (None, None, None)
    assert sample.utilization_percent == 100
    # The first slow reading may come before the first sample, and cannot know yet what that lacks.
    (health, *_) = host.wait_for(lambda readings: [one for one in readings.gpu_health if "fan_percent" in one.absences])
    assert health.nvlinks_active is None
    assert {health.absences[name] for name in ("fan_percent", "power_w", "memory_temperature_c")} == {"not_supported"}


def test_a_board_without_memory_of_its_own_is_unified(watch: Watch) -> None:
    host = watch("gpus 1\nlacks 0 memory\nprocess 0 1 2048\nprocess 0 2 1024\n")
    gpu = host.wait_for(gpu_of(GPU_0))
    assert gpu.unified_memory
    assert gpu.memory_total_bytes and gpu.memory_total_bytes < 150754820096
    assert host.wait_for(sample_of(GPU_0)).memory_used_bytes == 3072 << 20


def test_an_older_driver_without_the_second_form_of_memory(watch: Watch) -> None:
    sample = watch("gpus 1\nlacks 0 memory_v2\n").wait_for(sample_of(GPU_0))
    assert (sample.memory_used_bytes, sample.memory_reserved_bytes) == (1059913728 + 644939776, None)


def test_a_lost_gpu_is_said_to_be_lost_and_the_rest_goes_on(watch: Watch) -> None:
    host = watch("gpus 4\n")
    host.wait_for(sample_of(GPU_3))
    host.script("gpus 4\nlost 3\n")
    event = host.wait_for(lambda r: next((e for e in r.gpu_events if e.kind == "lost"), None))
    assert event.uuid == GPU_3
    gone = host.wait_for(gpu_of(GPU_3))
    assert gone.lost_at == event.at
    host.forget()
    host.wait_for(sample_of(GPU_0))
    assert sample_of(GPU_3)(host.readings) is None
    host.script("gpus 4\n")
    host.wait_for(lambda r: any(e.kind == "returned" and e.uuid == GPU_3 for e in r.gpu_events))
    host.wait_for(sample_of(GPU_3))
    assert gpu_of(GPU_3)(host.readings).lost_at is None


def test_a_driver_that_is_unloaded_and_comes_back(watch: Watch) -> None:
    host = watch("gpus 2\n")
    host.wait_for(sample_of(GPU_0))
    host.script("gpus 2\ninit 9\ndriver 9\n")
    status = host.wait_for(lambda r: r.gpu_status if r.gpu_status.availability == "driver_not_loaded" else None)
    assert "nvidia-modprobe" in status.remedy
    assert gpu_of(GPU_0)(host.readings).lost_at is not None
    host.forget()
    host.script("gpus 2\n")
    host.wait_for(sample_of(GPU_0))
    assert host.wait_for(lambda r: r.gpu_status).availability == "available"


def test_a_library_that_does_not_fit_the_driver(watch: Watch) -> None:
    status = watch("init 18\n").wait_for(lambda readings: readings.gpu_status)
    assert status.availability == "version_mismatch"
    assert "differ" in status.message and "reboot" in status.remedy


def test_a_gpu_that_is_taken_out_is_lost_and_comes_back(watch: Watch) -> None:
    host = watch("gpus 4\n")
    host.wait_for(sample_of(GPU_3))
    host.script("gpus 3\nlost 3\n")
    event = host.wait_for(lambda r: next((e for e in r.gpu_events if e.kind == "lost"), None))
    assert event.uuid == GPU_3
    host.wait_for(lambda r: r.gpu_status is not None and r.gpu_status.message.startswith("3 GPUs"))
    host.forget()
    host.wait_for(sample_of(GPU_0))
    host.script("gpus 4\n")
    host.wait_for(lambda r: [e for e in r.gpu_events if (e.uuid, e.kind) == (GPU_3, "returned")])
    assert gpu_of(GPU_3)(host.readings).lost_at is None


def test_a_virtual_gpu_says_so_and_lacks_what_its_host_keeps(watch: Watch) -> None:
    kept = (
        "power",
        "power_limit",
        "fan",
        "temperature",
        "memory_temperature",
        "pcie",
        "energy",
        "nvlink",
        "thresholds",
    )
    host = watch("gpus 2\npcie_ms 1\nvgpu 1\n" + "".join(f"lacks 1 {name}\n" for name in (*kept, "ecc", "clocks")))
    uuid = GPU_0[:-1] + "1"
    gpu = host.wait_for(gpu_of(uuid))
    assert (gpu.virtualization, gpu.shown_name, gpu.ecc_enabled) == ("vgpu", "NVIDIA H200 (vGPU)", None)
    sample = host.wait_for(sample_of(uuid))
    assert (sample.utilization_percent, sample.memory_used_bytes) == (100, 1059913728)
    assert (sample.power_w, sample.temperature_c, sample.sm_clock_mhz, sample.fan_percent) == (None,) * 4
    assert host.wait_for(gpu_of(GPU_0)).shown_name == "NVIDIA H200"


def test_an_xid_arrives_with_its_gpu_and_meaning(watch: Watch) -> None:
    host = watch("gpus 4\n")
    host.wait_for(sample_of(GPU_3))
    host.script("gpus 4\nxid 1 3 79\n")
    (event,) = host.wait_for(lambda r: r.gpu_events)
    assert (event.uuid, event.kind, event.code) == (GPU_3, "xid", 79)
    assert "fallen off the bus" in event.message


def test_a_driver_without_events_says_so(watch: Watch) -> None:
    host = watch("gpus 1\npcie_ms 1\nlacks 0 events\n")
    health = host.wait_for(lambda r: next((h for h in r.gpu_health if "xid" in h.absences), None))
    assert health.absences["xid"] == "not_supported"


def test_mig_instances_show_their_memory_and_nothing_that_is_not_theirs(watch: Watch) -> None:
    host = watch("gpus 1\nmig 0 2\n")
    host.wait_for(lambda r: len(r.gpus) >= 3)
    parent, first, second = host.readings.gpus[:3]
    assert (parent.mig_enabled, first.parent_uuid, second.index) == (True, parent.uuid, 1)
    sample = host.wait_for(sample_of(first.uuid))
    assert (sample.utilization_percent, sample.power_w) == (None, None)
    assert sample.memory_total_bytes == 150754820096


def test_processes_carry_user_command_start_and_job(watch: Watch, tmp_path: Path) -> None:
    host = watch("gpus 1\n")
    host.wait_for(sample_of(GPU_0))
    host.script(f"gpus 1\nprocess 0 {host.process.pid} 4096\nprocess 0 4000000 512\nprocess 0 99999999 1\n")
    rows = host.wait_for(lambda r: r.gpu_processes)
    known, hidden = sorted(rows, key=lambda row: row.pid)
    assert known.memory_bytes == 4096 << 20 and known.user and "watch_gpus_here" in known.command
    assert known.started_at is not None
    assert (hidden.pid, hidden.command, hidden.memory_bytes) == (4000000, None, 512 << 20)


def test_a_process_is_traced_to_its_job(fake_library: Path, tmp_path: Path, watch: Watch) -> None:
    os.environ["ALULA_JOB_ID"] = "17"
    try:
        host = watch("gpus 1\n")
    finally:
        del os.environ["ALULA_JOB_ID"]
    host.script(f"gpus 1\nprocess 0 {host.process.pid} 64\n")
    assert host.wait_for(lambda r: r.gpu_processes)[0].job_id == 17


def test_without_a_library_the_reason_is_given(tmp_path: Path) -> None:
    host = WatchedHost(None, tmp_path, "")
    try:
        status = host.wait_for(lambda readings: readings.gpu_status)
    finally:
        host.close()
    if status.availability != "available":
        assert status.availability in ("no_driver", "unsupported_vendor")
        assert status.message
