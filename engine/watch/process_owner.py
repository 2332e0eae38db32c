"""Whose process it is: user, command line, start, and the Alula job it belongs to."""

from pathlib import Path

import msgspec
import psutil

from state.secret_words import shown_argv

JOB_VARIABLE = "ALULA_JOB_ID"
_COMMAND_LIMIT = 500


class Owner(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of a process. All `None` where it lives in another PID namespace."""

    user: str | None = None
    command: str | None = None
    started_at: float | None = None
    job_id: int | None = None


def find_owner(pid: int) -> Owner:
    """Look a GPU process up. A pid that is in use here by chance, by a process that has no GPU open, is not it."""
    try:
        process = psutil.Process(pid)
        if _opens_no_gpu(pid):
            return Owner()
        with process.oneshot():
            return Owner(
                user=process.username(),
                command=" ".join(shown_argv(process.cmdline()))[:_COMMAND_LIMIT] or process.name(),
                started_at=process.create_time(),
                job_id=job_of(process),
            )
    except psutil.Error:
        return Owner()


def job_of(process: psutil.Process) -> int | None:
    """The job whose runner started this process or one of its ancestors. `None` where that cannot be seen."""
    try:
        family = [process, *process.parents()]
    except psutil.Error:
        return None
    for member in family:
        try:
            value = member.environ().get(JOB_VARIABLE, "")
        except (psutil.Error, OSError):
            continue
        if value.isdecimal():
            return int(value)
    return None


def _opens_no_gpu(pid: int) -> bool:
    """True only where every open file could be seen and none is a GPU device."""
    if not Path("/dev/nvidiactl").exists():
        return False
    try:
        files = [str(entry.readlink()) for entry in Path(f"/proc/{pid}/fd").iterdir()]
    except OSError:
        return False
    return not any(name.startswith("/dev/nvidia") for name in files)
