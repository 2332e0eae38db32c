"""Keeps the engine's parts running: one that fails is started again, ever later, and the operator is told."""

import asyncio
import logging
import time

from engine.context import EngineContext, Part
from state.engine import write_part
from state.outside_text import plain_line
from state.records.engine import EnginePart, PartState

FIRST_WAIT_S = 0.5
LONGEST_WAIT_S = 60.0
STEADY_S = 30.0
"""A part that has run this long is well again: its alert clears and the next wait is short."""

RESTART_RULE = "engine-part-restarting"
log = logging.getLogger(__name__)


async def supervise(part: Part, context: EngineContext) -> None:
    """Run one part until cancelled, or until it returns by itself."""
    failures = restarts = 0
    while True:
        _record(context, part, "running", restarts)
        steady = asyncio.get_running_loop().call_later(STEADY_S, context.clear_alert, RESTART_RULE, _subject(part))
        began = time.monotonic()
        try:
            await part.run(context)
        except Exception as error:
            log.exception("part %s failed", part.name)
            failure = error
        else:
            _record(context, part, "stopped", restarts)
            return
        finally:
            steady.cancel()
        failures = 1 if time.monotonic() - began > STEADY_S else failures + 1
        restarts += 1
        await _back_off(part, context, failure, failures, restarts)


def wait_before_restart(failures: int) -> float:
    """Seconds to wait after so many failures in a row: doubling, bounded."""
    return min(FIRST_WAIT_S * 2.0 ** min(failures - 1, 20), LONGEST_WAIT_S)


async def _back_off(part: Part, context: EngineContext, error: Exception, failures: int, restarts: int) -> None:
    wait_s = wait_before_restart(failures)
    reason = plain_line(f"{type(error).__name__}: {error}", 300)
    try:
        _record(context, part, "backing_off", restarts, last_error=reason, retry_at=time.time() + wait_s)
        context.raise_alert(
            rule=RESTART_RULE,
            subject=_subject(part),
            severity="warning",
            title=f"engine part {part.name} failed and is started again",
            cause=reason,
            remedy=f"if it goes on, look into {context.folder.engine_log_path}",
        )
    except Exception:
        # A full disk must not end the supervisor: what it could not write stands in the log.
        log.exception("could not record the failure of part %s", part.name)
    await asyncio.sleep(wait_s)


def _record(
    context: EngineContext,
    part: Part,
    state: PartState,
    restarts: int,
    last_error: str | None = None,
    retry_at: float | None = None,
) -> None:
    record = EnginePart(
        name=part.name, state=state, since=time.time(), restarts=restarts, last_error=last_error, retry_at=retry_at
    )
    try:
        database = context.database(durable=False)
        try:
            write_part(database, record)
        finally:
            database.close()
    except Exception:
        log.exception("could not record the state of part %s", part.name)


def _subject(part: Part) -> str:
    return f"engine part {part.name}"
