"""Which queued jobs may start now, on which GPUs, and why the others wait: a pure function."""

import time
from collections.abc import Mapping, Sequence

import msgspec

from state.records.jobs import ENDED, Job, JobState


class Device(msgspec.Struct, frozen=True, kw_only=True):
    """A GPU as the queue sees it."""

    index: int
    uuid: str
    taken_by: str | None = None
    """Who uses it that is no job of Alula, in words; `None` where nobody does."""


class Surroundings(msgspec.Struct, frozen=True, kw_only=True):
    """What decides besides the jobs themselves."""

    now: float
    paused: bool = False
    devices: tuple[Device, ...] | None = None
    """`None` while nobody has looked yet."""
    no_devices: str = ""
    """Why there are none, in words."""
    states: Mapping[int, JobState] = {}
    """Of the jobs that others wait for; of one that was tried again, the state of the last try."""
    busy_ports: frozenset[int] = frozenset()
    """Those of the ports that queued jobs want at which something listens."""
    memory_bytes: int | None = None
    """Of the host, in all."""


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """Exactly one holds: it starts (on these GPUs), it waits, or it never can."""

    gpus: tuple[int, ...] = ()
    waits: str | None = None
    never: str | None = None

    @property
    def starts(self) -> bool:
        """Whether it may start now."""
        return self.waits is None and self.never is None


def admissions(jobs: Sequence[Job], around: Surroundings) -> dict[int, Verdict]:
    """A verdict for each queued job among the open ones. Higher priority first, then the older one.

    A job that waits for GPUs keeps those that are free from jobs behind it, so that it is not overtaken for ever.
    """
    running = [job for job in jobs if job.state != "queued" and job.backend == "local"]
    holders = {index: f"job {job.id}" for job in running for index in job.gpus}
    verdicts: dict[int, Verdict] = {}
    for job in sorted((job for job in jobs if job.state == "queued"), key=lambda job: (-job.schedule.priority, job.id)):
        early = _by_time_and_order(job, around)
        if job.backend != "local":  # what it needs is the cluster's to give
            verdicts[job.id] = early or Verdict()
            continue
        early = early or _by_host(job, around, running)
        verdict = verdicts[job.id] = early or _by_gpus(job, around, holders)
        if verdict.starts:
            running.append(job)
            holders |= dict.fromkeys(verdict.gpus, f"job {job.id}")
        elif early is None and verdict.never is None:
            holders |= _kept_for(job, around, holders)
    return verdicts


def _by_time_and_order(job: Job, around: Surroundings) -> Verdict | None:
    if around.paused:
        return Verdict(waits="the queue is paused")
    for other in (*job.schedule.after, *job.schedule.after_ok):
        state = around.states.get(other)
        if state is None:
            return Verdict(never=f"there is no job {other} to wait for")
        if state not in ENDED:
            return Verdict(waits=f"waits for job {other}")
        if other in job.schedule.after_ok and state != "done":
            return Verdict(never=f"job {other}, which it needs, is {state}")
    if job.not_before is not None and around.now < job.not_before:
        clock = time.strftime("%H:%M:%S", time.localtime(job.not_before))
        return Verdict(waits=f"tries again at {clock}")
    return None


def _by_host(job: Job, around: Surroundings, running: Sequence[Job]) -> Verdict | None:
    for port in job.schedule.ports:
        if holder := next((other for other in running if port in other.schedule.ports), None):
            return Verdict(waits=f"waits for port {port}, held by job {holder.id}")
        if port in around.busy_ports:
            return Verdict(waits=f"waits for port {port}, at which something listens")
    wanted, there = job.schedule.memory_bytes, around.memory_bytes
    if not wanted or there is None:
        return None
    if wanted > there:
        return Verdict(never=f"asks for {wanted >> 20} MiB of memory, and there are {there >> 20} MiB")
    reserved = sum(other.schedule.memory_bytes for other in running)
    if reserved + wanted > there:
        return Verdict(
            waits=f"waits for {wanted >> 20} MiB of memory, of which {(there - reserved) >> 20} MiB are left"
        )
    return None


def _by_gpus(job: Job, around: Surroundings, holders: Mapping[int, str]) -> Verdict:
    if not (job.schedule.gpus or job.schedule.gpu_choice):
        return Verdict()
    if around.devices is None:
        return Verdict(waits="waits for a first look at the GPUs")
    if not around.devices:
        return Verdict(never=around.no_devices or "there is no GPU here")
    if job.schedule.gpu_choice:
        return _chosen(job.schedule.gpu_choice, around.devices, holders)
    return _counted(job.schedule.gpus, around.devices, holders)


def _chosen(wanted: Sequence[int], devices: Sequence[Device], holders: Mapping[int, str]) -> Verdict:
    known = {device.index: device for device in devices}
    for index in wanted:
        if index not in known:
            return Verdict(never=f"there is no GPU {index} here")
        if holder := holders.get(index) or known[index].taken_by:
            return Verdict(waits=f"waits for GPU {index}, held by {holder}")
    return Verdict(gpus=tuple(wanted))


def _counted(count: int, devices: Sequence[Device], holders: Mapping[int, str]) -> Verdict:
    if count > len(devices):
        return Verdict(never=f"asks for {count} GPUs, and there are {len(devices)}")
    free = [device.index for device in devices if device.index not in holders and device.taken_by is None]
    if len(free) < count:
        held = sorted({*holders.values(), *(device.taken_by for device in devices if device.taken_by)})
        what = "1 free GPU" if count == 1 else f"{count} free GPUs"
        return Verdict(waits=f"waits for {what}: {len(free)} free, the others held by {', '.join(held)}")
    return Verdict(gpus=tuple(free[:count]))


def _kept_for(job: Job, around: Surroundings, holders: Mapping[int, str]) -> dict[int, str]:
    """Free GPUs that the waiting job will need."""
    free = {device.index for device in around.devices or () if device.index not in holders}
    wanted = free & set(job.schedule.gpu_choice) if job.schedule.gpu_choice else free
    return dict.fromkeys(wanted, f"job {job.id}, which waits before it")
