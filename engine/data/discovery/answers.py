"""Answers of the hub, kept in the state database: a search goes on where it was stopped, and works with no network."""

import sqlite3
import threading
import time
from collections.abc import Callable
from typing import Any

import msgspec

from state.data import keep_answer, kept_answer


class Unanswered(Exception):
    """A question got no answer that can be used; the message says why."""


class Answers:
    """Asks the hub only what it has not answered lately. Scouts share one."""

    def __init__(self, database: sqlite3.Connection, *, fresh_s: float, offline: bool) -> None:
        """`fresh_s`: a kept answer that is older is asked for again, and used still where that fails."""
        self._database = database
        self._lock = threading.Lock()
        self._fresh_s = fresh_s
        self._offline = offline
        self.from_hub = 0
        self.from_here = 0
        self.stale = 0
        self.missing = 0

    def get(self, question: str, ask: Callable[[], Any]) -> Any:
        """What was kept, or else what `ask` gives, which is kept then.

        Raises:
            Unanswered: Nothing is kept, and the hub is not to be asked or does not answer.
        """
        with self._lock:
            kept = kept_answer(self._database, question)
        if kept is not None and (self._offline or time.time() - kept[1] < self._fresh_s):
            return self._kept(kept[0])
        if self._offline:
            self._count(missing=1)
            raise Unanswered("nothing is kept, and there is no network")
        try:
            answer = ask()
        except Unanswered:
            if kept is None:
                self._count(missing=1)
                raise
            self._count(stale=1)
            return self._kept(kept[0])
        with self._lock:
            keep_answer(self._database, question, msgspec.json.encode(answer).decode(), time.time())
            self.from_hub += 1
        return answer

    def _kept(self, answer: str) -> Any:
        with self._lock:
            self.from_here += 1
        return msgspec.json.decode(answer)

    def _count(self, *, missing: int = 0, stale: int = 0) -> None:
        with self._lock:
            self.missing += missing
            self.stale += stale
