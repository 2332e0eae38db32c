"""What can be wrong with regenerations, idle GPUs and disks. Pure."""

from collections.abc import Iterator, Sequence

from engine.watch.alert_state import Symptom
from engine.watch.latest import Snapshot
from state.records.host import DiskSample
from state.records.regeneration import Regeneration, RegenerationProgress

RULES = (
    "regeneration-stalled", "regeneration-slow", "regeneration-failing", "gpus-idle", "disk-filling", "disk-full",
)  # fmt: skip
STALLED_S = 120.0
_SLOW_SHARE = 0.5
_FAILING_SHARE, _FAILING_COUNT = 0.05, 10
_IDLE_PERCENT, _IDLE_MEMORY_SHARE = 5.0, 0.05
_WAITING_S = 60.0
_FULL_SHARE = 0.02


def work_symptoms(snapshot: Snapshot) -> Iterator[Symptom]:
    """All of this module's rules."""
    for run, progress in snapshot.regenerations:
        yield from _regeneration(run, progress, snapshot.now)
    yield from _idle_gpus(snapshot)
    for disk in snapshot.disks:
        yield from _disk(disk, snapshot.disk_full_hours)


def _regeneration(run: Regeneration, progress: Sequence[RegenerationProgress], now: float) -> Iterator[Symptom]:
    if run.state != "running" or not progress:
        return
    subject, last = f"regeneration {run.name}", progress[-1]
    moved = [row for row in progress if (row.done, row.failed) != (last.done, last.failed)]
    still_since = moved[-1].taken_at if moved else progress[0].taken_at
    if now - still_since >= STALLED_S:
        yield Symptom(
            rule="regeneration-stalled",
            subject=subject,
            severity="error",
            title=f"{subject} stands still",
            cause=f"No answer came for {now - still_since:.0f} s; {last.in_flight} requests are in flight.",
            remedy=f"Look at the server {run.server_url}; `alula regen status {run.name}` shows more.",
        )
        return
    speed, usual = last.tokens_per_s_now, last.tokens_per_s_overall
    if speed is not None and usual and speed < _SLOW_SHARE * usual:
        yield Symptom(
            rule="regeneration-slow",
            subject=subject,
            severity="warning",
            title=f"{subject} runs at {speed:.0f} tok/s, its mean is {usual:.0f}",
            cause="The server gives this run less than half of what it gave before.",
            remedy="Look for other load on the server, throttled GPUs, or longer answers near the end of the run.",
            raise_after_s=120,
            clear_after_s=120,
        )
    if last.failed >= _FAILING_COUNT and last.failed > _FAILING_SHARE * (last.done + last.failed):
        kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(last.failed_by_kind.items()))
        yield Symptom(
            rule="regeneration-failing",
            subject=subject,
            severity="error",
            title=f"{subject}: {last.failed} of {last.done + last.failed} samples failed",
            cause=kinds or "The server refused them.",
            remedy=f"`alula regen status {run.name}` lists them; resume the run once the reason is gone.",
        )


def _idle_gpus(snapshot: Snapshot) -> Iterator[Symptom]:
    waiting = [job for job in snapshot.jobs if job.state == "queued" and snapshot.now - job.created_at > _WAITING_S]
    idle = [gpu.index for uuid, gpu in snapshot.gpus.items() if _is_idle(snapshot, uuid)]
    if waiting and idle:
        yield Symptom(
            rule="gpus-idle",
            subject="host",
            severity="warning",
            title=f"GPUs idle: {len(idle)}, jobs that wait: {len(waiting)}",
            cause=f"GPU {', '.join(map(str, sorted(idle)))} did nothing for a minute; "
            f"job {waiting[0].id} ({waiting[0].name}) waits longest.",
            remedy="Look at what the job waits for (`alula jobs show ID`), or start something on the idle GPUs.",
            raise_after_s=60,
            clear_after_s=10,
        )


def _is_idle(snapshot: Snapshot, uuid: str) -> bool:
    sample, gpu = snapshot.gpu_samples.get(uuid), snapshot.gpus[uuid]
    if sample is None or gpu.lost_at is not None or sample.utilization_percent is None:
        return False
    used, total = sample.memory_used_bytes, sample.memory_total_bytes
    return sample.utilization_percent < _IDLE_PERCENT and (not total or (used or 0) < _IDLE_MEMORY_SHARE * total)


def _disk(disk: DiskSample, full_hours: float) -> Iterator[Symptom]:
    inodes_short = disk.inodes_total and disk.inodes_free is not None and (
        disk.inodes_free < _FULL_SHARE * disk.inodes_total
    )  # fmt: skip
    if disk.free_bytes < _FULL_SHARE * disk.total_bytes or inodes_short:
        yield Symptom(
            rule="disk-full",
            subject=f"disk {disk.mount}",
            severity="error",
            title=f"{disk.mount} is full: {'no inodes' if inodes_short else f'{disk.free_bytes / 2**30:.1f} GiB'} left",
            cause=f"It holds: {disk.purpose}.",
            remedy="Delete or move what is not needed; runs pause or fail when a write fails.",
            clear_after_s=60,
        )
    elif disk.full_in_s is not None and disk.full_in_s < full_hours * 3600:
        yield Symptom(
            rule="disk-filling",
            subject=f"disk {disk.mount}",
            severity="warning",
            title=f"{disk.mount} is full in {disk.full_in_s / 3600:.1f} h at the present rate",
            cause=f"It holds: {disk.purpose}; {disk.free_bytes / 2**30:.0f} GiB are left.",
            remedy="Make room, or point runs and checkpoints at another disk, before it happens.",
            raise_after_s=60,
            clear_after_s=300,
        )
