"""Alerts to a webhook or a program, when the operator has named one."""

import asyncio
import logging
import socket
from collections.abc import Awaitable, Sequence
from typing import Literal

import msgspec

from engine.watch.alert_state import Symptom
from state.settings import Notifications

TIMEOUT_S = 10.0
log = logging.getLogger(__name__)


class Notice(msgspec.Struct, frozen=True, kw_only=True):
    """What is sent."""

    event: Literal["raised", "cleared"]
    host: str
    rule: str
    subject: str
    severity: str
    title: str
    cause: str
    remedy: str


def notice(event: Literal["raised", "cleared"], symptom: Symptom) -> Notice:
    """An alert's beginning or end, for the outside."""
    return Notice(
        event=event,
        host=socket.gethostname(),
        rule=symptom.rule,
        subject=symptom.subject,
        severity=symptom.severity,
        title=symptom.title,
        cause=symptom.cause,
        remedy=symptom.remedy,
    )


async def send(notices: Sequence[Notice], where: Notifications) -> None:
    """Send each to every place that is set. What cannot be sent is logged: the console shows the alert in any case."""
    for item in notices:
        body = msgspec.json.encode(item)
        if where.webhook:
            await _logged(_post(where.webhook, body), where.webhook)
        if where.command:
            await _logged(_run(where.command, body), where.command[0])


async def _logged(work: Awaitable[str | None], name: str) -> None:
    try:
        async with asyncio.timeout(TIMEOUT_S):
            problem = await work
    except TimeoutError:
        problem = f"no end within {TIMEOUT_S:.0f} s"
    except Exception as error:  # any failure of somebody else's program or server ends here
        problem = f"{type(error).__name__}: {error}"
    if problem:
        log.warning("alert not sent to %s: %s", name, problem)


async def _post(url: str, body: bytes) -> str | None:
    from engine.watch.server_client import open_client

    headers = {"content-type": "application/json"}
    async with open_client() as client, client.stream("POST", url, content=body, headers=headers) as response:
        return None if response.is_success else f"it answered {response.status_code}"


async def _run(command: Sequence[str], body: bytes) -> str | None:
    pipe, void = asyncio.subprocess.PIPE, asyncio.subprocess.DEVNULL
    process = await asyncio.create_subprocess_exec(*command, stdin=pipe, stdout=void, stderr=void)
    try:
        await process.communicate(body)
    finally:
        if process.returncode is None:
            process.kill()
    return f"it ended with {process.returncode}" if process.returncode else None
