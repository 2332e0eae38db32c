"""Brings each job from queued to its end: it takes the steps that `engine.jobs.steps` decides on.

Runners speak through files in the run folder, so what a runner did while no engine lived is taken up by the next one.
"""

import asyncio
import logging
import os
import signal
import sqlite3
import time
from contextlib import suppress
from pathlib import Path

import msgspec

from engine.context import EngineContext
from engine.jobs.admission import admissions
from engine.jobs.follow_up import follow_up
from engine.jobs.limits import limit_passed
from engine.jobs.process_tree import become_subreaper, job_processes, send_signal
from engine.jobs.records import record_end
from engine.jobs.run_folder import ExitFile, JobFile, RunFolder, read, write, write_once
from engine.jobs.spawning import Spawner
from engine.jobs.steps import Facts, Step, next_step
from engine.jobs.surroundings import read_surroundings
from state.job_queue import write_waiting
from state.jobs import move, open_jobs, request_stop
from state.outside_text import plain_line
from state.process_identity import ProcessIdentity, is_alive, is_zombie
from state.records.jobs import Job

LOOK_S = 0.25
IDLE_LOOK_S = 2.0
"""While no job is open. A command that queues one wakes the scheduler at once."""
SILENT_S = 60.0
"""A runner that lives but has not given a sign for this long hangs or is stopped: its job's log is not bounded now."""
SILENT_RULE = "job-runner-silent"
STUCK_RULE = "job-stuck"
CRASHING_RULE = "job-keeps-dying"
log = logging.getLogger(__name__)


async def schedule_jobs(context: EngineContext) -> None:
    """Look at every open job, four times a second and whenever a command asks."""
    become_subreaper()  # so that the exit status of a job whose runner is killed comes to the engine
    database = context.database()
    scheduler = Scheduler(context, database)
    try:
        while True:
            context.jobs_changed.clear()
            busy = scheduler.look()
            with suppress(TimeoutError):
                async with asyncio.timeout(LOOK_S if busy else IDLE_LOOK_S):
                    await context.jobs_changed.wait()
    finally:
        database.close()


class Scheduler:
    """The open jobs of one engine."""

    def __init__(self, context: EngineContext, database: sqlite3.Connection) -> None:
        self.context = context
        self.database = database
        self.spawner = Spawner()
        self._told: dict[int, ProcessIdentity] = {}
        self._alerts: set[tuple[str, int]] = set()

    def look(self) -> bool:
        """Take each open job one step further, where there is a step to take. Gives whether any is open."""
        self._follow_up()
        jobs = open_jobs(self.database)
        now = time.time()
        queued = any(job.state == "queued" for job in jobs)
        verdicts = admissions(jobs, read_surroundings(self.database, jobs, now)) if queued else {}
        for job in jobs:
            folder = RunFolder(Path(job.run_folder))
            if job.backend != "local" and job.state != "queued":
                self._keep_to_limit(job)
                continue
            try:
                if job.state == "queued":
                    facts = Facts(boot_id=self.context.boot_id, verdict=verdicts[job.id])
                else:
                    self._reap(job, folder)
                    facts = self._facts(job, folder)
                self._take(job, folder, facts, next_step(job, facts))
                self._judge(job, folder, facts)
            except OSError as error:
                log.exception("job %d", job.id)
                self._alert(STUCK_RULE, job, "cannot be started or looked after", str(error), "free space, or stop it")
        self._forget({job.id for job in jobs})
        return bool(jobs)

    def _facts(self, job: Job, folder: RunFolder) -> Facts:
        runner = folder.runner() or _recorded_runner(job)
        lives = runner is not None and is_alive(runner.pid, runner.started_at, runner.boot_id)
        child = read(folder.child, ProcessIdentity)
        return Facts(
            boot_id=self.context.boot_id,
            folder_exists=folder.job.exists(),
            runner=runner,
            runner_lives=lives,
            runner_told=runner is not None and self._told.get(job.id) == runner,
            child=child,
            processes_live=runner is not None and not lives and child is None and bool(job_processes(folder.path)),
            spawns=self.spawner.tries(job.id, runner),
            spawn_pending=self.spawner.is_pending(job.id),
            # Last: a runner that is dead by now has written its end before it died.
            end=read(folder.exit, ExitFile),
        )

    def _take(self, job: Job, folder: RunFolder, facts: Facts, step: Step) -> None:
        if step.do == "hold":
            if job.reason != step.reason:
                write_waiting(self.database, job.id, step.reason or "")
        elif step.do == "prepare" and job.backend != "local":
            move(self.database, job.id, ["queued"], "starting", time.time(), f"for {job.backend_address}", reason=None)
        elif step.do == "prepare":
            self._prepare(job, folder, step.gpus)
        elif step.do == "spawn":
            self.spawner.spawn(job.id, folder, facts.runner)
        elif step.do == "mark_running":
            self._mark_running(job, folder, facts)
        elif step.do == "tell_runner":
            self._tell(job, facts)
        elif step.do == "end":
            assert step.state is not None
            record_end(self.database, job, facts.end, step.state, step.reason)

    def _prepare(self, job: Job, folder: RunFolder, gpus: tuple[int, ...]) -> None:
        content = JobFile(
            job_id=job.id,
            argv=job.argv,
            working_dir=job.working_dir,
            environment={**job.environment, **_gpu_environment(gpus)},
            grace_s=job.grace_s,
            database_path=str(self.context.folder.database_path),
            secrets=job.schedule.secrets,
            secrets_path=str(self.context.folder.secrets_path),
        )
        try:
            folder.path.mkdir(mode=0o700, parents=True, exist_ok=True)
            write(folder.job, content)
        except OSError as error:
            record_end(self.database, job, None, "failed", f"cannot write {folder.path}: {error.strerror}")
            return
        message = f"with GPU {', '.join(map(str, gpus))}" if gpus else ""
        given = {"boot_id": self.context.boot_id, "gpus": msgspec.json.encode(gpus).decode(), "reason": None}
        if move(self.database, job.id, ["queued"], "starting", time.time(), message, **given):
            self.spawner.spawn(job.id, folder, None)

    def _mark_running(self, job: Job, folder: RunFolder, facts: Facts) -> None:
        assert facts.child is not None and facts.runner is not None
        now = time.time()
        move(
            self.database, job.id, ["starting"], "running", now, started_at=folder.started_at() or now,
            pid=facts.child.pid, pid_started_at=facts.child.started_at, runner_pid=facts.runner.pid,
            runner_started_at=facts.runner.started_at, boot_id=facts.runner.boot_id,
        )  # fmt: skip

    def _tell(self, job: Job, facts: Facts) -> None:
        assert facts.runner is not None
        move(self.database, job.id, ["starting", "running"], "stopping", time.time())
        send_signal([facts.runner], signal.SIGTERM)
        send_signal([facts.runner], signal.SIGCONT)  # one that was stopped would never see it
        self._told[job.id] = facts.runner

    def _reap(self, job: Job, folder: RunFolder) -> None:
        """Take the exit status of a job whose runner was killed: the kernel handed its processes to this one."""
        child = read(folder.child, ProcessIdentity)
        if child is None or child.boot_id != self.context.boot_id or not is_zombie(child):
            return
        try:
            pid, status = os.waitpid(child.pid, os.WNOHANG)
        except ChildProcessError:
            return  # its runner lives and takes it
        if pid:
            write_once(folder.reaped, ExitFile.from_code(os.waitstatus_to_exitcode(status), time.time()))

    def _follow_up(self) -> None:
        for job, decided in follow_up(self.database, time.time()):
            subject, title = f"job {job.id}", plain_line(f"job {job.id} ({job.name}) keeps dying")
            self.context.raise_alert(
                rule=CRASHING_RULE, subject=subject, severity="error", title=title,
                cause=plain_line(decided.message),
                remedy=f"read its log, mend it, and start it again: alula jobs retry {job.id}",
            )  # fmt: skip

    def _judge(self, job: Job, folder: RunFolder, facts: Facts) -> None:
        self._keep_to_limit(job)
        silent_s = folder.silent_s(time.time())
        if facts.runner_lives and silent_s is not None and silent_s > SILENT_S:
            cause = (
                f"its runner (pid {facts.runner.pid if facts.runner else '?'}) has given no sign for {silent_s:.0f} s"
            )
            self._alert(SILENT_RULE, job, "is not looked after", cause, "see whether the runner is stopped: ps -o stat")
        else:
            self._clear(SILENT_RULE, job.id)
        self._clear(STUCK_RULE, job.id)

    def _keep_to_limit(self, job: Job) -> None:
        if (reason := limit_passed(job, time.time())) is not None:
            request_stop(self.database, job.id, time.time(), reason)

    def _alert(self, rule: str, job: Job, what: str, cause: str, remedy: str) -> None:
        if (rule, job.id) in self._alerts:
            return
        self._alerts.add((rule, job.id))
        title = plain_line(f"job {job.id} ({job.name}) {what}")
        self.context.raise_alert(
            rule=rule, subject=f"job {job.id}", severity="warning", title=title, cause=plain_line(cause), remedy=remedy
        )

    def _clear(self, rule: str, job_id: int) -> None:
        if (rule, job_id) in self._alerts:
            self._alerts.discard((rule, job_id))
            self.context.clear_alert(rule, f"job {job_id}")

    def _forget(self, open_ids: set[int]) -> None:
        self.spawner.forget_all_but(open_ids)
        self._told = {job_id: runner for job_id, runner in self._told.items() if job_id in open_ids}
        for rule, job_id in list(self._alerts):
            if job_id not in open_ids:
                self._clear(rule, job_id)


def _gpu_environment(gpus: tuple[int, ...]) -> dict[str, str]:
    """So that a job sees its own GPUs alone, in NVML's order."""
    if not gpus:
        return {}
    return {"CUDA_VISIBLE_DEVICES": ",".join(map(str, gpus)), "CUDA_DEVICE_ORDER": "PCI_BUS_ID"}


def _recorded_runner(job: Job) -> ProcessIdentity | None:
    if job.runner_pid is None or job.runner_started_at is None or job.boot_id is None:
        return None
    return ProcessIdentity(job.runner_pid, job.runner_started_at, job.boot_id)
