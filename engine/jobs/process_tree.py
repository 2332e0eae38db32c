"""All processes of a job: those below its runner, and those that carry its mark wherever they have got to."""

import ctypes
import os
import signal
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from engine.jobs.run_folder import JOB_VARIABLE
from state.process_identity import ProcessIdentity, identify

PR_SET_CHILD_SUBREAPER = 36
"""linux/prctl.h"""


def become_subreaper() -> None:
    """Have orphans among this process's descendants handed to it, and not to the host's init."""
    if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_CHILD_SUBREAPER)")


def job_processes(run_folder: Path, runner_pid: int | None = None) -> list[ProcessIdentity]:
    """Live processes of a job, without its runner.

    Descendants of the runner are found by parent, and the rest by the mark in their environment, which also finds
    processes whose runner has died.
    """
    parents = _parents()
    below = _descendants(runner_pid, parents) if runner_pid is not None else set()
    marked = {pid for pid in parents if pid not in below and _is_marked(pid, run_folder)}
    marked |= {pid for root in marked for pid in _descendants(root, parents)}
    own = {os.getpid(), runner_pid}
    return [found for pid in below | marked if pid not in own and (found := identify(pid))]


def send_signal(processes: Iterable[ProcessIdentity], number: signal.Signals) -> None:
    """Signal each of these very processes; those that are gone, or whose pid is another's now, are passed over."""
    for process in processes:
        try:
            descriptor = os.pidfd_open(process.pid)
        except OSError:
            continue
        try:
            if identify(process.pid) == process:
                signal.pidfd_send_signal(descriptor, number)
        except OSError:
            continue
        finally:
            os.close(descriptor)


def reap_orphans(child_pid: int | None) -> None:
    """Take the exit status of orphans that were handed to this process. The child's own is for whoever started it."""
    with suppress(ChildProcessError):
        while (found := os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)) and found.si_pid != child_pid:
            os.waitpid(found.si_pid, 0)


def _parents() -> dict[int, int]:
    found = {}
    for entry in os.scandir("/proc"):
        if entry.name.isdigit():
            try:
                text = Path(entry.path, "stat").read_text(errors="replace")
            except OSError:
                continue
            found[int(entry.name)] = int(text[text.rindex(")") + 2 :].split()[1])
    return found


def _descendants(root: int, parents: dict[int, int]) -> set[int]:
    children: dict[int, list[int]] = {}
    for pid, parent in parents.items():
        children.setdefault(parent, []).append(pid)
    found: set[int] = set()
    waiting = [root]
    while waiting:
        for pid in children.get(waiting.pop(), ()):
            if pid not in found:
                found.add(pid)
                waiting.append(pid)
    return found


def _is_marked(pid: int, run_folder: Path) -> bool:
    try:
        environment = Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return False
    return f"{JOB_VARIABLE}={run_folder}".encode() in environment.split(b"\0") and not _is_runner(pid)


def _is_runner(pid: int) -> bool:
    try:
        return b"engine.jobs.runner" in Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return False
