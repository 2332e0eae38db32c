"""Which process is which: a pid alone is not enough, because pids are given again and hosts restart."""

from functools import lru_cache
from pathlib import Path

import msgspec


class ProcessIdentity(msgspec.Struct, frozen=True):
    """A process that stays told apart from every other one, before and after it."""

    pid: int
    started_at: float
    """In clock ticks since boot, as /proc/PID/stat gives it: exact, and it does not move with the clock."""
    boot_id: str


def identify(pid: int, *, ended_too: bool = False) -> ProcessIdentity | None:
    """The identity of a running process; `None` where there is none, or only its exit status is left (a zombie).

    Args:
        pid: Its number.
        ended_too: Also identify a zombie.
    """
    fields = _stat_fields(pid)
    if fields is None or (fields[0] in ("Z", "X") and not ended_too):
        return None
    return ProcessIdentity(pid, float(fields[19]), boot_id())


def is_alive(pid: int | None, started_at: float | None, boot: str | None) -> bool:
    """Whether exactly this process still runs."""
    if pid is None or started_at is None:
        return False
    return identify(pid) == ProcessIdentity(pid, started_at, boot or "")


def is_zombie(process: ProcessIdentity) -> bool:
    """Whether it has ended and its parent has not yet taken its exit status."""
    fields = _stat_fields(process.pid)
    return fields is not None and fields[0] == "Z" and float(fields[19]) == process.started_at


@lru_cache
def boot_id() -> str:
    """Changes with every start of the host's kernel."""
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def _stat_fields(pid: int) -> list[str] | None:
    """Fields of /proc/PID/stat from the state on: the name before them may hold spaces and brackets."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(errors="replace")
    except OSError:
        return None
    return text[text.rindex(")") + 2 :].split()
