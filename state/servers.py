"""Inference servers in the database."""

import sqlite3
from collections.abc import Iterable

from state import rows
from state.records.servers import Server, ServerEvent, ServerRank, ServerSample
from state.rollups import Series, table_for

EVENTS_KEPT = 1000
_MEASURED = (
    "tokens_per_s", "running_requests", "queued_requests", "token_usage", "cache_hit_rate", "accept_length",
    "accept_rate", "ttft_p50_s", "ttft_p95_s", "itl_p50_s", "itl_p95_s",
)  # fmt: skip
SERIES = Series(
    table="server_sample",
    key="server_id",
    means=("running_requests", "queued_requests"),
    precise_means=tuple(name for name in _MEASURED if not name.endswith("_requests")),
)


def read_servers(connection: sqlite3.Connection) -> list[Server]:
    """Every watched server, in order of URL."""
    return rows.read(connection, Server, "SELECT * FROM server ORDER BY url")


def latest_server_samples(connection: sqlite3.Connection) -> dict[str, ServerSample]:
    """The newest sample of each server by URL; servers that never gave one are not there."""
    sql = f"""SELECT url, taken_at, {", ".join(_MEASURED)} FROM server JOIN server_sample
        ON server_id = server.id AND taken_at = (SELECT MAX(taken_at) FROM server_sample WHERE server_id = server.id)"""
    return {sample.url: sample for sample in rows.read(connection, ServerSample, sql)}


def server_history(
    connection: sqlite3.Connection, url: str, since: float, until: float, now: float
) -> list[ServerSample]:
    """Samples of one server in time order, from the finest table that reaches back to `since`."""
    table = table_for("server_sample", now - since)
    sql = f"""SELECT ? AS url, taken_at, {", ".join(_MEASURED)} FROM {table}
        WHERE server_id = (SELECT id FROM server WHERE url = ?) AND taken_at >= ? AND taken_at <= ? ORDER BY taken_at"""
    return rows.read(connection, ServerSample, sql, (url, url, since, until))


def read_ranks(connection: sqlite3.Connection, url: str | None = None) -> list[ServerRank]:
    """Data-parallel ranks of one server, or of all."""
    where, parameters = ("", ()) if url is None else ("WHERE url = ?", (url,))
    return rows.read(connection, ServerRank, f"SELECT * FROM server_rank {where} ORDER BY url, rank", parameters)


def read_server_events(connection: sqlite3.Connection, url: str | None = None, limit: int = 100) -> list[ServerEvent]:
    """What happened to servers, newest first."""
    where, parameters = ("", ()) if url is None else ("WHERE url = ?", (url,))
    sql = f"SELECT * FROM server_event {where} ORDER BY id DESC LIMIT {int(limit)}"
    return rows.read(connection, ServerEvent, sql, parameters)


def add_server(connection: sqlite3.Connection, server: Server) -> bool:
    """Add a server to watch. False where its URL is watched already."""
    if connection.execute("SELECT 1 FROM server WHERE url = ?", (server.url,)).fetchone():
        return False
    rows.insert(connection, "server", server)
    return True


def write_servers(connection: sqlite3.Connection, servers: Iterable[Server]) -> None:
    """Change the rows of known servers and add those found on the host; their history stays. One given by URL that is
    not there any more was removed meanwhile, and stays away."""
    for server in servers:
        known = connection.execute("SELECT id FROM server WHERE url = ?", (server.url,)).fetchone()
        if known:
            changes = {name: getattr(server, name) for name in server.__struct_fields__}
            rows.update(connection, "server", known[0], **changes)
        elif server.found_by != "url":
            rows.insert(connection, "server", server)


def remove_server(connection: sqlite3.Connection, url: str) -> bool:
    """Forget a server and its history. False where it was not known."""
    return connection.execute("DELETE FROM server WHERE url = ?", (url,)).rowcount > 0


def write_server_samples(connection: sqlite3.Connection, samples: Iterable[ServerSample]) -> None:
    """Add samples of known servers."""
    marks = ", ".join("?" * len(_MEASURED))
    connection.executemany(
        f"""INSERT OR REPLACE INTO server_sample (server_id, taken_at, {", ".join(_MEASURED)})
            SELECT id, ?, {marks} FROM server WHERE url = ?""",
        [(s.taken_at, *(getattr(s, name) for name in _MEASURED), s.url) for s in samples],
    )


def write_ranks(connection: sqlite3.Connection, url: str, ranks: Iterable[ServerRank]) -> None:
    """Replace the ranks of one server."""
    connection.execute("DELETE FROM server_rank WHERE url = ?", (url,))
    for rank in ranks:
        rows.replace(connection, "server_rank", rank)


def add_server_events(connection: sqlite3.Connection, events: Iterable[ServerEvent]) -> None:
    """Add events and drop the oldest beyond `EVENTS_KEPT`."""
    last = [rows.insert(connection, "server_event", event) for event in events]
    if last:
        connection.execute("DELETE FROM server_event WHERE id <= ?", (last[-1] - EVENTS_KEPT,))
