"""Starts the server of a point through the job engine, waits until it is ready, and stops it."""

import asyncio
import socket
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, closing
from pathlib import Path

import msgspec

from engine.bench.provenance import check_command, page
from engine.bench.records import BenchError, Failed, Point
from engine.bench.wire import Connections, address_of
from engine.client import Client, CommandRefused, EngineUnavailable
from state.database import open_database
from state.errors import StateError
from state.folder import state_folder
from state.jobs import read_job
from state.records.jobs import ENDED, Job

LOOK_S = 0.25
STOP_LIMIT_S = 120.0
GRACE_S = 60.0
OWN = "server.json"
_LOG_TAIL = 2000


class Serving(msgspec.Struct, frozen=True, kw_only=True):
    """A server that answers."""

    url: str
    job_id: int | None = None
    pid: int | None = None


class _Own(msgspec.Struct, frozen=True):
    """Which job this run folder has started, so that a later worker can end it."""

    job_id: int


@asynccontextmanager
async def serving(point: Point, folder: Path, say: Callable[[str], None]) -> AsyncIterator[Serving]:
    """The server of a point, up for as long as the context is open. One that ran already is left running.

    Raises:
        BenchError: It cannot be started, or does not become ready.
    """
    if point.url:
        yield Serving(url=point.url.rstrip("/"), pid=await asyncio.to_thread(_watched_pid, point.url))
        return
    await stop_left_over(folder)
    command, port = _with_port(point)
    await asyncio.to_thread(_refuse_errors, point, command)
    say("starting its server")
    job_id = await asyncio.to_thread(_launch, point, command)
    (folder / OWN).write_bytes(msgspec.json.encode(_Own(job_id)))
    try:
        url = f"http://127.0.0.1:{port}"
        job = await _ready(url, job_id, point.ready_timeout_s)
        yield Serving(url=url, job_id=job_id, pid=job.pid)
    finally:
        await asyncio.shield(_stop(folder, job_id))


async def stop_left_over(folder: Path) -> None:
    """End the server of a worker that was killed."""
    try:
        own = msgspec.json.decode((folder / OWN).read_bytes(), type=_Own)
    except (OSError, msgspec.DecodeError, RecursionError):
        return
    await _stop(folder, own.job_id)


def _refuse_errors(point: Point, command: list[str]) -> None:
    errors = {one.rule: one for one in check_command(command) if one.severity == "error"}
    if errors and not point.launch_despite_errors:
        first = next(iter(errors.values()))
        raise BenchError(
            f"not started: the checker finds {', '.join(sorted(errors))}: {first.message}",
            "mend its arguments, or say launch_despite_errors = true to measure it all the same",
        )


def _with_port(point: Point) -> tuple[list[str], int]:
    if any("{port}" in word for word in point.command):
        with socket.socket() as found:
            found.bind(("127.0.0.1", 0))
            port = int(found.getsockname()[1])
        return [word.replace("{port}", str(port)) for word in point.command], port
    words = list(point.command)
    for place, word in enumerate(words):
        text = word.partition("=")[2] if word.startswith("--port=") else words[place + 1 : place + 2]
        value = text if isinstance(text, str) else next(iter(text), "")
        if word.startswith("--port") and value.isdigit():
            return words, int(value)
    raise BenchError("its command names no port", "add --port {port}")


def _launch(point: Point, command: list[str]) -> int:
    arguments = {
        "argv": command,
        "name": f"bench {point.name}",
        "kind": "serve",
        "working_dir": point.working_dir,
        "environment": point.environment,
        "grace_s": GRACE_S,
    }
    try:
        client = Client(state_folder())
        client.ensure_engine()
        return int(client.ask("jobs.launch", arguments, timeout_s=30.0)["job_id"])
    except (CommandRefused, EngineUnavailable, StateError) as error:
        raise BenchError(f"its server cannot be started: {error}", error.remedy) from error


async def _ready(url: str, job_id: int, limit_s: float) -> Job:
    """Ready is 200 from `/health`, for which SGLang generates a token (0.5.2 on, srt/entrypoints/http_server.py)."""
    connections, deadline = Connections(address_of(url)), time.monotonic() + limit_s
    try:
        while time.monotonic() < deadline:
            job = await asyncio.to_thread(_read, job_id)
            if job is None or job.state in ENDED:
                why = (job.reason if job else None) or "it ended"
                raise BenchError(
                    f"its server ended before it was ready: {why}{_last_words(job)}",
                    f"see its log: alula jobs logs {job_id}",
                )
            try:
                if (await page(connections, "GET", "/health"))[0] == 200:
                    return job
            except Failed:
                pass
            await asyncio.sleep(LOOK_S)
    finally:
        connections.close()
    raise BenchError(
        f"its server was not ready within {limit_s:.0f} s", f"see its log: alula jobs logs {job_id}, or wait longer"
    )


async def _stop(folder: Path, job_id: int) -> None:
    def stop() -> None:
        try:
            Client(state_folder()).ask("jobs.stop", {"job_id": job_id}, timeout_s=30.0)
        except (CommandRefused, EngineUnavailable, StateError):
            return
        deadline = time.monotonic() + STOP_LIMIT_S
        while time.monotonic() < deadline and (job := _read(job_id)) is not None and job.state not in ENDED:
            time.sleep(LOOK_S)

    await asyncio.to_thread(stop)
    (folder / OWN).unlink(missing_ok=True)


def _read(job_id: int) -> Job | None:
    with closing(open_database(state_folder().database_path)) as database:
        return read_job(database, job_id)


def _last_words(job: Job | None) -> str:
    from state.outside_text import plain_line

    if job is None:
        return ""
    try:
        with (Path(job.run_folder) / "log.txt").open("rb") as stream:
            stream.seek(0, 2)
            stream.seek(max(0, stream.tell() - _LOG_TAIL))
            lines = stream.read().decode(errors="replace").strip().splitlines()
    except OSError:
        return ""
    return f": {plain_line(lines[-1], 300)}" if lines else ""


def _watched_pid(url: str) -> int | None:
    """The process of a server that the watcher knows, so that its command and variables can be checked too."""
    import sqlite3

    from state.servers import read_servers

    try:
        with closing(open_database(state_folder().database_path)) as database:
            return next((server.pid for server in read_servers(database) if server.url == url.rstrip("/")), None)
    except (sqlite3.Error, StateError, OSError):
        return None
