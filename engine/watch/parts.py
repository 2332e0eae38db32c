"""The watch as parts of the engine: three sources, or a recording in their place; the writer; the judge."""

import sqlite3
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

from engine.context import EngineContext, Part
from engine.jobs.secrets import read_secrets
from engine.watch.alerts import judge
from engine.watch.gpus import watch_gpus
from engine.watch.host import watch_host
from engine.watch.latest import Latest
from engine.watch.readings import Board
from engine.watch.replay import replay
from engine.watch.servers import watch_servers
from engine.watch.writer import write_readings
from state.errors import StateError
from state.jobs import open_jobs
from state.settings import Settings, load_settings, settings_path

_HUGGING_FACE_CACHE = Path("~/.cache/huggingface")
Work = Callable[[EngineContext, sqlite3.Connection], Awaitable[None]]


def watch_parts(recording: Path | None = None) -> list[Part]:
    """Parts that share one board.

    Args:
        recording: Feed this recording in place of GPUs, host and servers.
    """
    board, latest = Board(), Latest()

    async def gpus(_context: EngineContext) -> None:
        await watch_gpus(board)

    async def host(context: EngineContext, database: sqlite3.Connection) -> None:
        settings = _settings(context)
        await watch_host(board, lambda: stored_places(context, database, settings))

    async def servers(context: EngineContext, database: sqlite3.Connection) -> None:
        await watch_servers(board, database, _keys(context))

    async def judging(context: EngineContext, database: sqlite3.Connection) -> None:
        await judge(latest, database, _settings(context), _keys(context), check_servers=recording is None)

    def played(path: Path) -> Part:
        return Part("replay", lambda _context: replay(path, board))

    sources = [
        Part("gpus", gpus),
        _with_database("host", host),
        _with_database("servers", servers),
    ]
    return [
        *([played(recording)] if recording else sources),
        _with_database("samples", lambda _context, database: write_readings(board, database, latest.add)),
        _with_database("alerts", judging),
    ]


def stored_places(
    context: EngineContext, database: sqlite3.Connection, settings: Settings
) -> Iterator[tuple[str, Path]]:
    """What is stored where: the state, runs, the working folders of jobs, models, and what the settings name."""
    yield "state", context.folder.path
    yield "runs", context.folder.runs_path
    for job in open_jobs(database):
        yield "jobs", Path(job.working_dir)
    cache = _HUGGING_FACE_CACHE.expanduser()
    if cache.exists():
        yield "models", cache
    for path in settings.watch.disks:
        yield "settings", Path(path)


def _with_database(name: str, work: Work) -> Part:
    async def run(context: EngineContext) -> None:
        database = context.database(durable=False)
        try:
            await work(context, database)
        finally:
            database.close()

    return Part(name, run)


def _keys(context: EngineContext) -> Callable[[str], str | None]:
    """The API key of the server at a URL, by the settings; none where it has no value, which the server then tells."""
    names = {url.rstrip("/"): name for url, name in _settings(context).watch.api_keys.items()}

    def key_of(url: str) -> str | None:
        try:
            return read_secrets(context.folder.secrets_path, [names[url]])[names[url]].strip()
        except (LookupError, OSError):
            return None

    return key_of


def _settings(context: EngineContext) -> Settings:
    """The settings, or the defaults and an alert: a slip in a text file must not blind the engine."""
    subject = str(settings_path())
    try:
        settings = load_settings()
    except StateError as error:
        context.raise_alert(
            rule="settings-unreadable",
            subject=subject,
            severity="warning",
            title="the settings file is not used",
            cause=str(error),
            remedy=f"{error.remedy} Then start the engine anew (`alula engine stop`).",
        )
        return Settings()
    context.clear_alert("settings-unreadable", subject)
    return settings
