"""The checker on running servers: each is checked when it comes up and whenever its settings change.

A check runs in a process of its own: it reads flag tables and model headers, which the engine need not carry in memory.
"""

import asyncio
import logging
import os
import sys
from collections.abc import Callable, Mapping

import msgspec

from engine.check.records import Finding
from engine.watch.latest import Latest
from engine.watch.ticks import until_tick
from state.records.servers import Server

LOOK_S = 1.0
LIMIT_S = 60.0
KEY_VARIABLE = "ALULA_SERVER_API_KEY"
"""Hands a key to the checking process: a command line could be read by everybody."""
_FRAMEWORKS = ("sglang", "alula-reference")
log = logging.getLogger(__name__)


class ServerChecks:
    """What the checker says of each server."""

    def __init__(self, key_of: Callable[[str], str | None] = lambda _url: None) -> None:
        self._key_of = key_of
        self.findings: dict[str, tuple[Finding, ...]] = {}
        self._checked: dict[str, str] = {}

    async def run(self, latest: Latest) -> None:
        """Check until cancelled."""
        while True:
            for server in self._due(latest.servers):
                self._checked[server.url] = _state(server)
                self.findings[server.url] = await check(server, self._key_of(server.url))
            for url in self.findings.keys() - latest.servers.keys():
                del self.findings[url], self._checked[url]
            await asyncio.sleep(until_tick(LOOK_S))

    def _due(self, servers: Mapping[str, Server]) -> list[Server]:
        return [
            server
            for server in servers.values()
            if server.framework in _FRAMEWORKS
            and server.health == "up"
            and self._checked.get(server.url) != _state(server)
        ]


async def check(server: Server, api_key: str | None = None) -> tuple[Finding, ...]:
    """Findings on one server; none where it cannot be checked, which is logged."""
    arguments = [server.url] if server.pid is None else [server.url, str(server.pid)]
    try:
        return msgspec.json.decode(await _output(arguments, api_key), type=tuple[Finding, ...])
    except (TimeoutError, msgspec.DecodeError, OSError, _Failed, RecursionError) as error:
        log.warning("%s could not be checked: %s", server.url, str(error) or f"no end within {LIMIT_S:.0f} s")
        return ()


class _Failed(Exception):
    """The checking process ended with an error; the text is the end of what it said."""


async def _output(arguments: list[str], api_key: str | None) -> bytes:
    environment = {**os.environ, **({KEY_VARIABLE: api_key} if api_key else {})}
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "engine.watch.check_once", *arguments,
        stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
        env=environment,
    )  # fmt: skip
    try:
        async with asyncio.timeout(LIMIT_S):
            output, errors = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
    if process.returncode:
        raise _Failed(errors.decode(errors="replace").strip()[-300:])
    return output


def _state(server: Server) -> str:
    """Changes whenever a check may come out otherwise."""
    return msgspec.json.encode([server.pid, server.started_at, server.version, server.flags], order="sorted").decode()
