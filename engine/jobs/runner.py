"""Looks after one job: `python -m engine.jobs.runner RUN_FOLDER`. It outlives the engine that started it.

It needs no database, so a full disk or a locked file there cannot hurt the job: how the job ended is written into the
run folder, and the engine, that one or the next, takes it up.
"""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from engine.jobs.log_rotation import rotate
from engine.jobs.process_tree import become_subreaper, job_processes, send_signal
from engine.jobs.run_folder import JOB_VARIABLE, ExitFile, JobFile, RunFolder, read, write, write_once
from state.process_identity import ProcessIdentity, identify, is_alive

LOOK_S = 0.1
ROTATE_EVERY_S = 1.0
REAPED_WAIT_S = 3.0
WRITE_AGAIN_S = 5.0


class Runner:
    """One job from its start (or from the death of its first runner) to its recorded end."""

    def __init__(self, folder: RunFolder, job: JobFile) -> None:
        self.folder = folder
        self.job = job
        self.stop_wanted = False

    def run(self) -> None:
        """Start the job, wait for its end, record it."""
        if self.stop_wanted:
            return self._finish(ExitFile(ended_at=time.time(), stopped=True))
        try:
            child = self._start()
        except (OSError, ValueError) as error:
            return self._finish(ExitFile(ended_at=time.time(), problem=_start_problem(error, self.job)))
        if identity := identify(child.pid):
            write(self.folder.child, identity)
        self._wait_or_stop(lambda: child.poll() is None, child.pid)
        status = child.wait()
        ended_at = time.time()
        self._end_all()  # the job ends with its first process
        code, number = (status, None) if status >= 0 else (None, -status)
        return self._finish(ExitFile(ended_at=ended_at, exit_code=code, exit_signal=number, stopped=self.stop_wanted))

    def adopt(self) -> None:
        """Wait for the end of what an earlier runner started. Its exit status goes to whoever inherited it."""
        child = read(self.folder.child, ProcessIdentity)
        self._wait_or_stop(lambda: self._inherited_lives(child))
        ended_at = time.time()
        self._end_all()
        reaped = self._wait_for_reaped() if child else None
        known = reaped or ExitFile(ended_at=ended_at)
        self._finish(
            ExitFile(
                ended_at=known.ended_at,
                exit_code=known.exit_code,
                exit_signal=known.exit_signal,
                stopped=self.stop_wanted,
            )
        )

    def _start(self) -> "subprocess.Popen[bytes]":
        with os.fdopen(os.open(self.folder.log, os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o600), "wb") as log:
            return subprocess.Popen(
                self.job.argv,
                cwd=self.job.working_dir,
                env={**os.environ, **self.job.environment, JOB_VARIABLE: str(self.folder.path)},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def _inherited_lives(self, child: ProcessIdentity | None) -> bool:
        if child is not None:
            return is_alive(child.pid, child.started_at, child.boot_id)
        return bool(job_processes(self.folder.path))

    def _wait_or_stop(self, lives: Callable[[], bool], child_pid: int | None = None) -> None:
        rotate_due = time.monotonic()
        while lives() and not self.stop_wanted:
            if time.monotonic() >= rotate_due:
                rotate(self.folder.log)
                rotate_due = time.monotonic() + ROTATE_EVERY_S
                _reap_orphans(child_pid)
            time.sleep(LOOK_S)
        if self.stop_wanted:
            self._end_all()

    def _end_all(self) -> None:
        """End the whole tree: SIGTERM, the grace time, then SIGKILL until nothing is left."""
        send_signal(self._processes(), signal.SIGTERM)
        deadline = time.monotonic() + self.job.grace_s
        while self._processes() and time.monotonic() < deadline:
            time.sleep(LOOK_S)
        while rest := self._processes():
            send_signal(rest, signal.SIGKILL)
            time.sleep(LOOK_S)

    def _processes(self) -> list[ProcessIdentity]:
        return job_processes(self.folder.path, os.getpid())

    def _wait_for_reaped(self) -> ExitFile | None:
        deadline = time.monotonic() + REAPED_WAIT_S
        while time.monotonic() < deadline:
            if found := read(self.folder.reaped, ExitFile):
                return found
            time.sleep(LOOK_S)
        return None

    def _finish(self, end: ExitFile) -> None:
        while True:
            try:
                write_once(self.folder.exit, end)
                return
            except OSError:
                # A full disk: the end of a 50-hour job is worth waiting for space.
                time.sleep(WRITE_AGAIN_S)


def main(path: Path) -> None:
    """Run the job of a folder that no runner has taken yet, or look after its processes if that runner died."""
    folder = RunFolder(path)
    job, own = read(folder.job, JobFile), identify(os.getpid())
    if job is None or own is None:
        sys.exit(f"{folder.job} cannot be read")
    runner = Runner(folder, job)
    signal.signal(signal.SIGTERM, lambda number, frame: setattr(runner, "stop_wanted", True))
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    become_subreaper()
    if write_once(folder.claim, own):
        runner.run()
    elif not folder.exit.exists() and not _other_lives(folder):
        write(folder.adoption, own)
        runner.adopt()


def _other_lives(folder: RunFolder) -> bool:
    other = folder.runner()
    return other is not None and is_alive(other.pid, other.started_at, other.boot_id)


def _start_problem(error: OSError | ValueError, job: JobFile) -> str:
    if isinstance(error, FileNotFoundError):
        missing = job.working_dir if not Path(job.working_dir).is_dir() else job.argv[0]
        return f"no such file or folder: {missing}"
    if isinstance(error, PermissionError):
        return f"not allowed to run {job.argv[0]}"
    return f"cannot run {job.argv[0]}: {error}"


def _reap_orphans(child_pid: int | None) -> None:
    """Take the exit status of orphans that were handed to this process; the child's own is for `Popen`."""
    try:
        while (found := os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)) and found.si_pid != child_pid:
            os.waitpid(found.si_pid, 0)
    except ChildProcessError:
        pass


if __name__ == "__main__":
    main(Path(sys.argv[1]))
