"""Looks after one job: `python -m engine.jobs.runner RUN_FOLDER`. It outlives the engine that started it.

It does not need the database, so a full disk or a locked file there cannot hurt the job: how it ended is written into
the run folder, and the engine, that one or the next, takes it up. Where the database can be had, it is told as well.
"""

import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from engine.jobs.log_rotation import LogKeeper
from engine.jobs.process_tree import become_subreaper, job_processes, reap_orphans, send_signal
from engine.jobs.records import record_end_of_runner
from engine.jobs.run_folder import (
    JOB_ID_VARIABLE,
    JOB_VARIABLE,
    ExitFile,
    JobFile,
    RunFolder,
    read,
    write,
    write_once,
)
from engine.jobs.secrets import read_secrets
from state.errors import StateError
from state.process_identity import ProcessIdentity, identify, is_alive

LOOK_S = 0.1
HEARTBEAT_S = 5.0
REAPED_WAIT_S = 3.0
KILL_LIMIT_S = 30.0
"""What still lives after SIGKILL for this long is stuck in the kernel or belongs to another user: it is left."""
WRITE_AGAIN_S = 5.0


class Runner:
    """One job from its start (or from the death of its first runner) to its recorded end."""

    def __init__(self, folder: RunFolder, job: JobFile) -> None:
        self.folder = folder
        self.job = job
        self.stop_wanted = False
        self.log = LogKeeper(folder.log)
        self._beat_due = 0.0
        self._child_pid: int | None = None
        self._unwritten: ProcessIdentity | None = None

    def run(self) -> None:
        """Start the job, wait for its end, record it."""
        if self.stop_wanted:
            return self._finish(ExitFile(ended_at=time.time(), stopped=True))
        try:
            child = self._start()
        except (OSError, ValueError, LookupError) as error:
            return self._finish(ExitFile(ended_at=time.time(), problem=_start_problem(error, self.job)))
        self._child_pid = child.pid
        self._unwritten = identify(child.pid, ended_too=True)
        self._look_after()
        self._wait_or_stop(lambda: child.poll() is None)
        end = ExitFile.from_code(child.wait(), time.time(), self.stop_wanted)
        if self._processes():
            # The job ends with its first process. Ending the rest takes a while, and the status is known only here.
            with suppress(OSError):
                write_once(self.folder.reaped, end)
            self._end_all()
        return self._finish(end)

    def adopt(self) -> None:
        """Wait for the end of what an earlier runner started. Its exit status goes to whoever inherited it."""
        child = read(self.folder.child, ProcessIdentity)
        self._wait_or_stop(lambda: self._inherited_lives(child))
        unknown = ExitFile(ended_at=time.time())
        self._end_all()
        end = (self._wait_for_reaped() if child else None) or unknown
        self._finish(ExitFile(ended_at=end.ended_at, exit_code=end.exit_code, exit_signal=end.exit_signal,
                              stopped=end.stopped or self.stop_wanted))  # fmt: skip

    def _start(self) -> "subprocess.Popen[bytes]":
        own = {JOB_VARIABLE: str(self.folder.path), JOB_ID_VARIABLE: str(self.job.job_id)}
        secrets = read_secrets(Path(self.job.secrets_path), self.job.secrets)
        with os.fdopen(os.open(self.folder.log, os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o600), "wb") as log:
            return subprocess.Popen(
                self.job.argv,
                cwd=self.job.working_dir,
                env={**os.environ, **self.job.environment, **secrets, **own},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def _inherited_lives(self, child: ProcessIdentity | None) -> bool:
        if child is not None:
            return is_alive(child.pid, child.started_at, child.boot_id)
        return bool(job_processes(self.folder.path))

    def _wait_or_stop(self, lives: Callable[[], bool]) -> None:
        while lives() and not self.stop_wanted:
            self._look_after()
            time.sleep(LOOK_S)
        if self.stop_wanted:
            self._end_all()

    def _look_after(self) -> None:
        with suppress(OSError):  # a full disk; again at the next look
            if self._unwritten is not None:
                write(self.folder.child, self._unwritten)
                self._unwritten = None
            self.log.look()
            if time.monotonic() >= self._beat_due:
                self._beat_due = time.monotonic() + HEARTBEAT_S
                self.folder.heartbeat.touch(mode=0o600)
        reap_orphans(self._child_pid)

    def _end_all(self) -> None:
        """End the whole tree: SIGTERM, the grace time, then SIGKILL until nothing is left."""
        send_signal(self._processes(), signal.SIGTERM)
        deadline = time.monotonic() + self.job.grace_s
        while self._processes() and time.monotonic() < deadline:
            self._look_after()
            time.sleep(LOOK_S)
        deadline = time.monotonic() + KILL_LIMIT_S
        while (rest := self._processes()) and time.monotonic() < deadline:
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
        with suppress(OSError):
            self.log.look()
        while self.folder.path.is_dir():
            try:
                write_once(self.folder.exit, end)
                break
            except OSError:
                # A full disk: the end of a 50-hour job is worth waiting for space.
                time.sleep(WRITE_AGAIN_S)
        try:
            record_end_of_runner(Path(self.job.database_path), self.job.job_id, self.folder.path, end)
        except (StateError, sqlite3.DatabaseError) as error:
            sys.stderr.write(f"the end is in {self.folder.exit}, not yet in the database: {error}\n")


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


def _start_problem(error: OSError | ValueError | LookupError, job: JobFile) -> str:
    if isinstance(error, LookupError):
        return str(error.args[0])
    if isinstance(error, FileNotFoundError):
        missing = job.working_dir if not Path(job.working_dir).is_dir() else job.argv[0]
        return f"no such file or folder: {missing}"
    if isinstance(error, PermissionError):
        return f"not allowed to run {job.argv[0]}"
    return f"cannot run {job.argv[0]}: {error}"


if __name__ == "__main__":
    main(Path(sys.argv[1]))
