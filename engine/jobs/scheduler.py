"""Brings each job from queued to its end. Only this part of the engine writes a job's state.

Runners speak through files in the run folder, so what a runner did while no engine lived is taken up by the next one.
"""

import asyncio
import os
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

from engine.context import EngineContext
from engine.jobs.outcome import outcome
from engine.jobs.process_tree import become_subreaper, job_processes, send_signal
from engine.jobs.run_folder import JOB_VARIABLE, ExitFile, JobFile, RunFolder, read, write, write_once
from state.jobs import move, open_jobs
from state.process_identity import ProcessIdentity, is_alive
from state.records.jobs import Job

LOOK_S = 0.25
START_LIMIT_S = 20.0
"""A runner that has not taken its job after this long never will; another is started, and at most one wins."""


async def schedule_jobs(context: EngineContext) -> None:
    """Look at every open job, four times a second and whenever a command asks."""
    become_subreaper()  # so that the exit status of a job whose runner is killed comes to the engine
    database = context.database()
    scheduler = Scheduler(context, database)
    try:
        while True:
            context.jobs_changed.clear()
            scheduler.look()
            # Not `wait_for`: up to Python 3.11 it can swallow a cancellation that comes together with the event.
            with suppress(TimeoutError):
                async with asyncio.timeout(LOOK_S):
                    await context.jobs_changed.wait()
    finally:
        database.close()


class Scheduler:
    """The open jobs of one engine."""

    def __init__(self, context: EngineContext, database: sqlite3.Connection) -> None:
        self.context = context
        self.database = database
        self.runners: dict[int, tuple[subprocess.Popen[bytes], float]] = {}
        """Runners that this engine started, and when (monotonic)."""
        self.stopping: set[int] = set()

    def look(self) -> None:
        """Take each open job one step further, where there is a step to take."""
        jobs = open_jobs(self.database)
        for job in jobs:
            self._reap(job)
            self._step(job)
        for job_id in set(self.runners) - {job.id for job in jobs}:
            if self.runners[job_id][0].poll() is not None:
                del self.runners[job_id]

    def _step(self, job: Job) -> None:
        folder = RunFolder(Path(job.run_folder))
        if end := read(folder.exit, ExitFile):
            self._record_end(job, folder, end)
        elif job.state == "queued":
            self._start(job, folder)
        elif job.boot_id not in (None, self.context.boot_id):
            self._record_lost(job, "the host restarted while it ran")
        else:
            self._follow(job, folder)

    def _start(self, job: Job, folder: RunFolder) -> None:
        if job.stop_requested_at is not None:
            move(
                self.database,
                job.id,
                ["queued"],
                "stopped",
                time.time(),
                ended_at=time.time(),
                reason="before it started",
            )
            return
        try:
            folder.path.mkdir(mode=0o700, parents=True, exist_ok=True)
            content = JobFile(
                job_id=job.id,
                argv=job.argv,
                working_dir=job.working_dir,
                environment=job.environment,
                grace_s=job.grace_s,
            )
            write(folder.job, content)
        except OSError as error:
            reason = f"cannot write {folder.path}: {error.strerror}"
            move(self.database, job.id, ["queued"], "failed", time.time(), ended_at=time.time(), reason=reason)
            return
        if move(self.database, job.id, ["queued"], "starting", time.time(), boot_id=self.context.boot_id):
            self._spawn_runner(job, folder)

    def _spawn_runner(self, job: Job, folder: RunFolder) -> None:
        environment = {name: value for name, value in os.environ.items() if name != JOB_VARIABLE}
        with os.fdopen(os.open(folder.runner_log, os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o600), "wb") as log:
            runner = subprocess.Popen(
                [sys.executable, "-m", "engine.jobs.runner", str(folder.path)],
                cwd="/",
                env={**environment, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self.runners[job.id] = (runner, time.monotonic())

    def _follow(self, job: Job, folder: RunFolder) -> None:
        runner = folder.runner()
        if runner is None:
            self._wait_for_claim(job, folder)
            return
        child = read(folder.child, ProcessIdentity)
        if child and job.state == "starting":
            move(
                self.database, job.id, ["starting"], "running", time.time(), started_at=time.time(), pid=child.pid,
                pid_started_at=child.started_at, runner_pid=runner.pid, runner_started_at=runner.started_at,
            )  # fmt: skip
        if not is_alive(runner.pid, runner.started_at, runner.boot_id):
            self._replace_runner(job, folder)
        elif job.stop_requested_at is not None and job.id not in self.stopping:
            self.stopping.add(job.id)
            move(self.database, job.id, ["starting", "running"], "stopping", time.time())
            send_signal([runner], signal.SIGTERM)

    def _wait_for_claim(self, job: Job, folder: RunFolder) -> None:
        started = self.runners.get(job.id)
        if started is None or started[0].poll() is not None or time.monotonic() - started[1] > START_LIMIT_S:
            self._spawn_runner(job, folder)

    def _replace_runner(self, job: Job, folder: RunFolder) -> None:
        """The runner is dead and has recorded no end."""
        started = self.runners.get(job.id)
        if started is not None and started[0].poll() is None and time.monotonic() - started[1] < START_LIMIT_S:
            return  # its successor is on its way
        if read(folder.exit, ExitFile):
            return  # it ended between our two looks
        if not read(folder.child, ProcessIdentity) and not job_processes(folder.path):
            reason = "its runner was killed before it could start it"
            write_once(folder.exit, ExitFile(ended_at=time.time(), problem=reason))
            return
        self.stopping.discard(job.id)
        self._spawn_runner(job, folder)

    def _reap(self, job: Job) -> None:
        """Take the exit status of a job whose runner was killed: the kernel handed its processes to this one."""
        if job.pid is None or job.boot_id != self.context.boot_id:
            return
        try:
            pid, status = os.waitpid(job.pid, os.WNOHANG)
        except ChildProcessError:
            return
        if pid:
            code = os.waitstatus_to_exitcode(status)
            end = ExitFile(
                ended_at=time.time(), exit_code=code if code >= 0 else None, exit_signal=-code if code < 0 else None
            )
            write_once(RunFolder(Path(job.run_folder)).reaped, end)

    def _record_end(self, job: Job, folder: RunFolder, end: ExitFile) -> None:
        state, reason = outcome(end, job.stop_requested_at is not None)
        child = read(folder.child, ProcessIdentity)
        move(
            self.database, job.id, ["queued", "starting", "running", "stopping"], state, time.time(), reason or "",
            started_at=job.started_at or (job.created_at if child else None), ended_at=end.ended_at, reason=reason,
            exit_code=end.exit_code, exit_signal=end.exit_signal, pid=child.pid if child else job.pid,
        )  # fmt: skip
        self.stopping.discard(job.id)

    def _record_lost(self, job: Job, reason: str) -> None:
        move(
            self.database, job.id, ["starting", "running", "stopping"], "lost", time.time(), reason,
            ended_at=time.time(), reason=reason,
        )  # fmt: skip
