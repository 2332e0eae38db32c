"""What is an alert and what is not."""

import msgspec
import pytest

from engine.check.records import Finding, Fix
from engine.watch.accept_trend import Trend, follow, has_fallen
from engine.watch.alert_state import Symptom
from engine.watch.alerts import RULES, symptoms
from engine.watch.latest import Latest, Snapshot
from engine.watch.readings import Readings
from state.records.gpus import Gpu, GpuEvent, GpuHealth, GpuSample
from state.records.host import DiskSample
from state.records.jobs import Job
from state.records.regeneration import Regeneration, RegenerationProgress
from state.records.servers import Server, ServerEvent, ServerSample

NOW, URL = 1_800_000_000.0, "http://127.0.0.1:30000"
GPU = Gpu(uuid="g", index=3, name="NVIDIA H200", seen_at=NOW, sm_clock_max_mhz=1980, slowdown_c=89)
BUSY = GpuSample(
    uuid="g", taken_at=NOW, utilization_percent=100, memory_used_bytes=100 << 30, memory_total_bytes=140 << 30,
    power_w=690, temperature_c=64, memory_temperature_c=52, sm_clock_mhz=1500, throttle_reasons=0x4,
)  # fmt: skip
SERVER = Server(url=URL, found_by="url", seen_at=NOW, health="up", speculative_algorithm="EAGLE")
INCIDENT = Finding(
    rule="spec-eagle3-draft-with-eagle", severity="error", title="EAGLE flag with an EAGLE-3 draft",
    message="The draft is fed final hidden states.", fix=Fix(text="Use --speculative-algorithm EAGLE3."),
)  # fmt: skip


def found(**state: object) -> list[Symptom]:
    return symptoms(Snapshot(now=NOW, **state))


def gpu(sample: GpuSample = BUSY, **more: object) -> list[Symptom]:
    return found(**({"gpus": {"g": GPU}, "gpu_samples": {"g": sample}} | more))


def server(length: float | None = 2.5, server: Server = SERVER, **more: object) -> list[Symptom]:
    sample = ServerSample(url=URL, taken_at=NOW, running_requests=4, accept_length=length)
    return found(servers={URL: server}, server_samples={URL: sample}, **more)


def rules(symptoms: list[Symptom]) -> list[str]:
    return [symptom.rule for symptom in symptoms]


def changed(record: msgspec.Struct, **changes: object) -> object:
    return msgspec.structs.replace(record, **changes)


def test_a_healthy_gpu_under_full_load_is_no_alert() -> None:
    assert gpu() == []


@pytest.mark.parametrize("mask", [0x8, 0x40, 0x80, 0x84])
def test_hardware_throttling_is(mask: int) -> None:
    (symptom,) = gpu(changed(BUSY, throttle_reasons=mask))
    assert symptom.rule == "gpu-throttled" and symptom.subject == "gpu 3"


def test_hot_is_measured_against_the_boards_own_limit() -> None:
    assert rules(gpu(changed(BUSY, temperature_c=87))) == ["gpu-hot"]
    assert rules(gpu(changed(BUSY, temperature_c=86))) == []
    assert rules(gpu(changed(BUSY, memory_temperature_c=96))) == ["gpu-hot"]


def test_a_gpus_own_xid_is_an_alert_and_a_programs_is_not() -> None:
    event = GpuEvent(uuid="g", at=NOW - 10, kind="xid", code=79, message="XID 79: the GPU has fallen off the bus")
    (symptom,) = gpu(gpu_events=[event])
    assert symptom.rule == "gpu-xid" and "79" in symptom.title and "reset" in symptom.remedy
    assert gpu(gpu_events=[changed(event, code=31)]) == []


def test_a_lost_gpu_is_said_once_and_its_last_sample_says_nothing_more() -> None:
    hot = changed(BUSY, temperature_c=99)
    assert rules(gpu(hot, gpus={"g": changed(GPU, lost_at=NOW)})) == ["gpu-lost"]


def test_a_driver_that_hangs_is_told_from_a_gpu_at_work() -> None:
    assert rules(gpu(changed(BUSY, taken_at=NOW - 25, temperature_c=99))) == ["gpu-silent"]
    assert gpu(changed(BUSY, taken_at=NOW - 5)) == []


def test_memory_errors_and_the_drivers_own_call() -> None:
    health = GpuHealth(uuid="g", taken_at=NOW, ecc_uncorrected=2, recovery_action=1)
    ecc, recovery = gpu(gpu_health={"g": health})
    assert "2 uncorrected" in ecc.title and "reset the GPU" in recovery.title
    assert gpu(gpu_health={"g": GpuHealth(uuid="g", taken_at=NOW, ecc_corrected=9, recovery_action=0)}) == []


def test_the_incident_in_the_operators_words() -> None:
    (symptom,) = server(1.0, findings={URL: [INCIDENT]})
    assert symptom.title == "accept length 1.00: EAGLE flag with an EAGLE-3 draft"
    assert symptom.severity == "error" and "EAGLE3" in symptom.remedy
    assert symptom.raise_after_s <= 5


def test_a_cause_is_told_before_the_effect_that_it_has() -> None:
    effect = changed(INCIDENT, rule="live-accept-length-one", title="accept length is 1.0")
    (symptom,) = server(1.0, findings={URL: [effect, INCIDENT, changed(INCIDENT, severity="warning")]})
    assert symptom.title == "accept length 1.00: EAGLE flag with an EAGLE-3 draft"


def test_accept_length_one_without_a_known_cause() -> None:
    (symptom,) = server(1.04)
    assert symptom.title == "accept length 1.04: no draft token is accepted"


def test_no_speculation_and_good_speculation_are_no_alerts() -> None:
    assert server(2.1) == []
    assert server(None) == []
    assert server(1.0, changed(SERVER, speculative_algorithm=None)) == []


def test_the_checker_speaks_before_any_request_ran() -> None:
    (symptom,) = server(None, findings={URL: [INCIDENT, INCIDENT]})
    assert (symptom.rule, symptom.title) == ("server-check", "EAGLE flag with an EAGLE-3 draft (and 1 more)")


def test_a_server_that_is_down() -> None:
    down = changed(SERVER, health="down", health_message="nothing listens there")
    (symptom,) = server(1.0, down)
    assert symptom.rule == "server-down" and symptom.cause == "nothing listens there"


def test_a_server_whose_job_ended_is_not_missed() -> None:
    down = changed(SERVER, health="down", job_id=4)
    assert server(None, down) == []
    assert rules(server(None, down, jobs=[job(id=4, state="running")])) == ["server-down"]


def test_a_restart_with_other_flags_is_said_and_one_with_the_same_is_not() -> None:
    event = ServerEvent(url=URL, at=NOW, kind="restarted", message="restarted with other flags: a 1 -> 2")
    assert rules(server(server_events=[event])) == ["server-restarted"]
    assert server(server_events=[changed(event, message="restarted with the same flags")]) == []


def test_accept_length_is_held_against_its_own_past() -> None:
    trend = Trend()
    for _ in range(1200):
        trend = follow(trend, 2.6, 1)
    assert not has_fallen(trend)
    for _ in range(240):
        trend = follow(trend, 1.4, 1)
    assert has_fallen(trend)
    (symptom,) = server(1.4, accept_trends={URL: trend})
    assert symptom.rule == "server-accept-length-falling"


def test_a_short_dip_or_a_young_server_is_no_fall() -> None:
    trend = Trend()
    for _ in range(1200):
        trend = follow(trend, 2.6, 1)
    for _ in range(10):
        trend = follow(trend, 1.4, 1)
    assert not has_fallen(trend)
    assert not has_fallen(follow(follow(Trend(), 3.0, 1), 1.2, 1))


def test_idle_gpus_are_one_only_while_a_job_waits() -> None:
    idle = changed(BUSY, utilization_percent=0, memory_used_bytes=1 << 30)
    assert gpu(idle) == []
    assert gpu(idle, jobs=[job(created_at=NOW - 5)]) == []
    assert rules(gpu(idle, jobs=[job()])) == ["gpus-idle"]
    assert gpu(jobs=[job()]) == []


def test_disks() -> None:
    disk = DiskSample(mount="/data", taken_at=NOW, purpose="runs", used_bytes=900 << 30, total_bytes=1000 << 30,
                      free_bytes=100 << 30, full_in_s=11 * 3600)  # fmt: skip
    assert rules(found(disks=[disk])) == ["disk-filling"]
    assert found(disks=[disk], disk_full_hours=10) == []
    assert rules(found(disks=[changed(disk, free_bytes=1 << 30)])) == ["disk-full"]
    assert rules(found(disks=[changed(disk, full_in_s=None, inodes_free=5, inodes_total=1000)])) == ["disk-full"]
    assert found(disks=[changed(disk, full_in_s=None)]) == []


def test_a_regeneration_that_stands_slows_or_fails() -> None:
    steady = [progress(at=NOW - 180 + step, done=step) for step in range(0, 181, 10)]
    assert regeneration(steady) == []
    stalled = [progress(at=NOW - 180 + step, done=9) for step in range(0, 181, 10)]
    (symptom,) = regeneration(stalled)
    assert symptom.rule == "regeneration-stalled" and "180 s" in symptom.cause
    assert rules(regeneration([*steady[:-1], progress(at=NOW, done=180, now=300.0)])) == ["regeneration-slow"]
    (symptom,) = regeneration([*steady[:-1], progress(at=NOW, done=180, failed=20)])
    assert symptom.rule == "regeneration-failing" and "20 timeout" in symptom.cause
    assert regeneration(stalled, state="paused") == []


def test_every_rule_that_is_raised_can_be_taken_up_by_the_next_engine() -> None:
    down = changed(SERVER, health="down")
    lost = found(gpus={"g": changed(GPU, lost_at=NOW)}, servers={URL: down}, disks=[])
    assert set(rules(lost)) <= set(RULES)


def test_what_the_watchers_read_reaches_the_rules() -> None:
    latest = Latest()
    latest.add(Readings(gpus=(GPU,), gpu_samples=(changed(BUSY, throttle_reasons=0x40),), servers=(SERVER,)))
    for second in range(3):
        sample = ServerSample(url=URL, taken_at=NOW + second, accept_length=1.0, running_requests=1)
        latest.add(Readings(server_samples=(sample,)))
    assert rules(symptoms(latest.snapshot(NOW))) == ["gpu-throttled", "server-accept-length-one"]
    assert latest.accept_trends[URL].recent == 1.0
    latest.add(Readings(servers_removed=(URL,)))
    assert rules(symptoms(latest.snapshot(NOW))) == ["gpu-throttled"]


def job(**changes: object) -> Job:
    base = Job(name="train", kind="train", argv=("true",), working_dir="/", run_folder="/", created_at=NOW - 300)
    return msgspec.structs.replace(base, **changes)


def progress(at: float, done: int, failed: int = 0, now: float = 800.0) -> RegenerationProgress:
    return RegenerationProgress(
        run_id=1, taken_at=at, done=done, failed=failed, failed_by_kind={"timeout": failed} if failed else {},
        in_flight=64, completion_tokens=done * 100, tokens_per_s_now=now, tokens_per_s_overall=830.0, eta_s=1,
        eta_low_s=1, eta_high_s=1,
    )  # fmt: skip


def regeneration(rows: list[RegenerationProgress], state: str = "running") -> list[Symptom]:
    run = Regeneration(name="r1", run_folder="/", inputs=(), server_url=URL, concurrency=64, total=1000, created_at=0,
                       state=state)  # fmt: skip
    return found(regenerations=[(run, rows)])
