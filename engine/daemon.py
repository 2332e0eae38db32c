"""The engine process: `python -m engine.daemon`. One for each state folder."""

import asyncio
import logging
import os
import signal
import sqlite3
import sys
import time
from collections.abc import Sequence
from contextlib import closing
from logging.handlers import RotatingFileHandler
from pathlib import Path

from engine.context import EngineContext, Part
from engine.lock import take_lock
from engine.parts import PARTS
from engine.supervisor import supervise
from state.engine import beat, forget_parts, write_engine, write_stopped
from state.errors import StateError
from state.folder import StateFolder, make_private, private_file, state_folder
from state.process_identity import identify
from state.records.engine import Engine
from state.version import VERSION

HEARTBEAT_S = 1.0
EXIT_ALREADY_RUNNING = 3
LOG_BYTES = 5 * 2**20
_LOCK_TRIES = 10
log = logging.getLogger(__name__)


def run_engine(folder: StateFolder, parts: Sequence[Part] = PARTS, *, to_terminal: bool = False) -> int:
    """Be the engine until SIGTERM, SIGINT or an `engine.stop` command. Returns the exit code.

    Raises:
        StateError: The state cannot be used.
    """
    lock = _take_lock(folder)
    if lock is None:
        return EXIT_ALREADY_RUNNING
    _log_to(folder, to_terminal)
    try:
        asyncio.run(_run(folder, parts))
    finally:
        os.close(lock)
    return 0


async def _run(folder: StateFolder, parts: Sequence[Part]) -> None:
    make_private(folder.runs_path)
    context = EngineContext(folder, stopping=asyncio.Event(), jobs_changed=asyncio.Event())
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, context.stopping.set)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    announced = context.database()  # held open: as long as it is, no other file can get this one's inode number
    heartbeat = _heartbeat(folder.database_path.stat())
    _announce(announced)
    log.info("engine %s started, pid %d", VERSION, os.getpid())
    tasks = [asyncio.create_task(supervise(part, context), name=part.name) for part in (*parts, heartbeat)]
    await context.stopping.wait()
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    announced.close()
    database = context.database()
    forget_parts(database)
    write_stopped(database, time.time())
    database.close()
    log.info("engine stopped")


def _announce(database: sqlite3.Connection) -> None:
    own = identify(os.getpid())
    assert own is not None
    now = time.time()
    forget_parts(database)
    write_engine(
        database,
        Engine(
            pid=own.pid,
            pid_started_at=own.started_at,
            boot_id=own.boot_id,
            version=VERSION,
            started_at=now,
            heartbeat_at=now,
        ),
    )


def _heartbeat(announced_in: os.stat_result) -> Part:
    """Gives signs of life, as long as the database is the file in which this engine announced itself."""

    async def beats(context: EngineContext) -> None:
        path = context.folder.database_path
        if _is_file(path, announced_in):
            with closing(context.database(durable=False)) as database:
                while _is_file(path, announced_in):
                    beat(database, time.time())
                    await asyncio.sleep(HEARTBEAT_S)
        # Whoever asks now asks another file, so this engine would never hear of it.
        log.error("%s was removed or replaced: this engine ends", path)
        context.stopping.set()

    return Part("heartbeat", beats)


def _is_file(path: Path, file: os.stat_result) -> bool:
    return path.exists() and os.path.samestat(file, path.stat())


def _take_lock(folder: StateFolder) -> int | None:
    for _ in range(_LOCK_TRIES):  # somebody who only asks whether an engine runs holds the lock for a moment
        if (lock := take_lock(folder.engine_lock_path)) is not None:
            return lock
        time.sleep(0.02)
    return None


def _log_to(folder: StateFolder, to_terminal: bool) -> None:
    handler: logging.Handler
    if to_terminal:
        handler = logging.StreamHandler()
    else:
        os.close(private_file(folder.engine_log_path, os.O_WRONLY))
        handler = RotatingFileHandler(folder.engine_log_path, maxBytes=LOG_BYTES, backupCount=2, encoding="utf-8")
    logging.basicConfig(
        level=logging.INFO, handlers=[handler], format="%(asctime)s %(levelname)s %(name)s: %(message)s"
    )
    logging.getLogger("httpx").setLevel(logging.WARNING)


def main() -> int:
    """Run detached, for the state folder of the environment."""
    try:
        return run_engine(state_folder())
    except StateError as error:
        print(f"alula engine: {error}; {error.remedy}", file=sys.stderr)  # noqa: T201 - this is the process's own stderr
        return 2


if __name__ == "__main__":
    sys.exit(main())
