"""All servers: those found among the host's processes, and those given by URL."""

import asyncio
import sqlite3
import time
from collections.abc import Callable

from engine.watch.readings import Board, Readings
from engine.watch.server_client import open_client
from engine.watch.server_discovery import Discovery, FoundServer
from engine.watch.server_watch import ServerWatch
from engine.watch.ticks import until_tick
from state.records.servers import Server, ServerEvent
from state.servers import read_servers

SCAN_S = 5.0
GIVEN_S = 1.0
_UNASKED = "found; not asked yet"
FORGET_S = 86_400.0
"""A server that was found on the host and is gone is forgotten after a day."""


async def watch_servers(
    board: Board, database: sqlite3.Connection, key_of: Callable[[str], str | None] = lambda _url: None
) -> None:
    """Watch until cancelled.

    Args:
        board: Takes the readings.
        database: Holds the URLs that operators gave and what is known from before.
        key_of: The API key of the server at a URL, where the settings name one.
    """
    discovery, watches = Discovery(), dict[str, asyncio.Task[None]]()
    servers: dict[str, ServerWatch] = {}
    scan_due, found = 0.0, dict[str, FoundServer]()
    async with open_client() as client, asyncio.TaskGroup() as group:
        while True:
            if time.monotonic() >= scan_due:
                scan_due = time.monotonic() + SCAN_S
                found = {server.url: server for server in await asyncio.to_thread(discovery.scan)}
            wants = {server.url: server for server in wanted(read_servers(database), found, time.time())}
            for url in wants.keys() - servers.keys():
                servers[url] = ServerWatch(wants[url], board, client, key_of(url))
                watches[url] = group.create_task(servers[url].run())
                _announce(board, wants[url])
            for url in servers.keys() - wants.keys():
                watches.pop(url).cancel()
                del servers[url]
                board.put(Readings(servers_removed=(url,)))
            for url, server in servers.items():
                server.found(found.get(url))
            await asyncio.sleep(until_tick(GIVEN_S))


def wanted(known: list[Server], found: dict[str, FoundServer], now: float) -> list[Server]:
    """What is to be watched: known servers except those long gone, and new ones on this host."""
    urls = {server.url for server in known}
    kept = [s for s in known if s.found_by == "url" or s.url in found or now - s.seen_at < FORGET_S]
    return kept + [_new(process, now) for url, process in found.items() if url not in urls]


def _new(process: FoundServer, now: float) -> Server:
    return Server(
        url=process.url,
        framework=process.framework,
        pid=process.pid,
        job_id=process.job_id,
        started_at=process.started_at,
        found_by="job" if process.job_id is not None else "process",
        seen_at=now,
        health="starting",
        health_message=_UNASKED,
    )


def _announce(board: Board, server: Server) -> None:
    events: tuple[ServerEvent, ...] = ()
    if server.health_message == _UNASKED:
        events = (ServerEvent(url=server.url, at=time.time(), kind="found", message=f"found as process {server.pid}"),)
    board.put(Readings(servers=(server,), server_events=events))
