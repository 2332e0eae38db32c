"""A thread that reads what the screen in sight needs, whenever the database has changed."""

import contextlib
import sqlite3
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from console.feed.topics import Topics, topics
from state.database import open_database
from state.errors import StateError
from state.records.views import EngineView

POLL_S = 0.1
ALIVE_S = 2.0
"""An engine that is killed writes nothing, so whether it lives is looked at even where nothing has changed."""


REST_S = 0.3
"""Before what was left out of a first reading is read: what came first is drawn meanwhile."""


class Feed(threading.Thread):
    """Calls `tell(topic, record)` from its own thread for each wanted topic whose record is not what it was."""

    def __init__(self, path: Path, tell: Callable[[str, Any], None], fail: Callable[[str], None]) -> None:
        super().__init__(name="feed", daemon=True)
        self._path = path
        self._tell = tell
        self._fail = fail
        self._wanted: frozenset[str] = frozenset()
        self._known: dict[str, Any] = {}
        self._again = threading.Event()
        self._ended = threading.Event()

    def want(self, topics: frozenset[str]) -> None:
        """Tell these topics from now on, each at once."""
        self._wanted = topics
        self._known = {}
        self._again.set()

    def end(self) -> None:
        """Stop reading."""
        self._ended.set()
        self._again.set()

    def run(self) -> None:
        """Read until ended. A database that cannot be read is said so, and tried again."""
        while not self._ended.is_set():
            try:
                with contextlib.closing(open_database(self._path)) as database:
                    self._follow(database)
            except (sqlite3.Error, StateError) as error:
                remedy = f"; {error.remedy}" if isinstance(error, StateError) else ""
                self._fail(f"{error}{remedy}")
                self._tell_unreadable()
                self._ended.wait(1.0)

    def _follow(self, database: sqlite3.Connection) -> None:
        identity = _identity(self._path)
        readers = topics()
        version, alive_due, rest_due = -1, 0.0, float("inf")
        while not self._ended.is_set() and identity == _identity(self._path):
            found = database.execute("PRAGMA data_version").fetchone()[0]
            if found != version or time.monotonic() >= rest_due or self._again.is_set():
                version = found
                self._again.clear()
                unfinished = self._look(database, readers, self._wanted)
                rest_due = time.monotonic() + REST_S if unfinished else float("inf")
            elif time.monotonic() >= alive_due:
                alive_due = time.monotonic() + ALIVE_S
                self._look(database, readers, self._wanted & {"engine"})
            self._again.wait(POLL_S)

    def _tell_unreadable(self) -> None:
        """What is shown is old from now on; the next record of the engine says that it is not any more."""
        view = EngineView(engine=None, alive=False, readable=False)
        if self._known.get("engine") != view:
            self._known["engine"] = view
            self._tell("engine", view)

    def _look(self, database: sqlite3.Connection, readers: Topics, wanted: frozenset[str]) -> bool:
        """Gives whether a reader has more to tell, so that it is called again soon."""
        for topic in sorted(wanted):
            try:
                record = readers[topic](database)
            except StateError as error:  # a row that cannot be read hides its own table alone
                problem = f"{error}; {error.remedy}"
                if self._known.get(topic) != problem:
                    self._known[topic] = problem
                    self._fail(problem)
                continue
            if topic not in self._known or self._known[topic] != record:
                self._known[topic] = record
                self._tell(topic, record)
        return any(getattr(readers[topic], "unfinished", False) for topic in wanted)


def _identity(path: Path) -> tuple[int, int] | None:
    """Which file lies there: another one after a restore."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino
