"""The judge: looks at everything once a second and opens, words anew and ends alerts."""

import asyncio
import sqlite3
import time
from collections.abc import Callable

import state.alerts
from engine.watch import alerts_of_gpus, alerts_of_servers, alerts_of_work
from engine.watch.alert_state import Step, Symptom, restore, step
from engine.watch.latest import Latest, Snapshot
from engine.watch.notify import Notice, notice, send
from engine.watch.server_check import ServerChecks
from engine.watch.ticks import WRITE_PHASE_S, until_tick
from state.jobs import open_jobs
from state.records.jobs import Job
from state.regeneration_trends import Trend, running_regenerations
from state.settings import Notifications, Settings

LOOK_S = 1.0
WORK_S = 5.0
PROGRESS_S = alerts_of_work.STALLED_S
RULES = (*alerts_of_gpus.RULES, *alerts_of_servers.RULES, *alerts_of_work.RULES)


async def judge(
    latest: Latest,
    database: sqlite3.Connection,
    settings: Settings,
    key_of: Callable[[str], str | None] = lambda _url: None,
    *,
    check_servers: bool = True,
) -> None:
    """Judge until cancelled.

    Args:
        latest: What the watchers read.
        database: A connection of this task's own.
        settings: Thresholds, and where alerts are sent.
        key_of: The API key of the server at a URL, where the settings name one.
        check_servers: Run the checker on servers that answer. Those of a recording cannot be asked.
    """
    conditions = restore(state.alerts.open_alerts(database), RULES, time.monotonic())
    checks, work_due = ServerChecks(key_of), 0.0
    jobs: list[Job] = []
    runs: list[Trend] = []
    async with asyncio.TaskGroup() as group:
        if check_servers:
            group.create_task(checks.run(latest))
        while True:
            now, clock = time.time(), time.monotonic()
            if clock >= work_due:
                work_due = clock + WORK_S
                jobs, runs = open_jobs(database), running_regenerations(database, now - PROGRESS_S)
            snapshot = latest.snapshot(
                now,
                jobs=jobs,
                regenerations=runs,
                findings=checks.findings,
                disk_full_hours=settings.watch.disk_full_hours,
            )
            outcome = step(conditions, symptoms(snapshot), clock)
            notices = apply(outcome, database, now)
            notices += [notice("cleared", conditions[key].symptom) for key in outcome.cleared]
            conditions = dict(outcome.conditions)
            if notices and settings.notify != Notifications():
                group.create_task(send(notices, settings.notify))
            await asyncio.sleep(until_tick(LOOK_S, WRITE_PHASE_S))


def symptoms(snapshot: Snapshot) -> list[Symptom]:
    """Everything that looks wrong, by every rule."""
    return [
        *alerts_of_gpus.gpu_symptoms(snapshot),
        *alerts_of_servers.server_symptoms(snapshot),
        *alerts_of_work.work_symptoms(snapshot),
    ]


def apply(outcome: Step, database: sqlite3.Connection, now: float) -> list[Notice]:
    """Write what one look changed; gives the notices of alerts that began."""
    if outcome.raised or outcome.cleared:
        database.execute("BEGIN IMMEDIATE")
        try:
            for s in outcome.raised:
                state.alerts.raise_alert(
                    database, rule=s.rule, subject=s.subject, severity=s.severity, title=s.title, cause=s.cause,
                    remedy=s.remedy, now=now,
                )  # fmt: skip
            for rule, subject in outcome.cleared:
                state.alerts.clear_alert(database, rule, subject, now)
        except BaseException:
            database.execute("ROLLBACK")
            raise
        database.execute("COMMIT")
    return [notice("raised", symptom) for symptom in outcome.begun]
