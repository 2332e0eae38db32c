"""Answers of the hub, kept in the state database: a search goes on where it was stopped, and works without a network."""

import sqlite3
import threading
import time
from collections.abc import Callable
from typing import Any

import msgspec

from state.data import keep_answer, kept_answer


class NotKept(Exception):
    """Without a network this question cannot be answered."""


class Answers:
    """Asks the hub only what it has not answered lately."""

    def __init__(self, database: sqlite3.Connection, *, fresh_s: float, offline: bool) -> None:
        self._database = database
        self._lock = threading.Lock()
        self._fresh_s = fresh_s
        self._offline = offline
        self.from_hub = 0
        self.from_here = 0
        self.missing = 0

    def get(self, question: str, ask: Callable[[], Any]) -> Any:
        """What was kept, or else what `ask` gives, which is kept then.

        Raises:
            NotKept: Nothing is kept, and the network is not to be used.
        """
        with self._lock:
            kept = kept_answer(self._database, question)
        if kept is not None and (self._offline or time.time() - kept[1] < self._fresh_s):
            self.from_here += 1
            return msgspec.json.decode(kept[0])
        if self._offline:
            self.missing += 1
            raise NotKept(question)
        answer = ask()
        with self._lock:
            keep_answer(self._database, question, msgspec.json.encode(answer).decode(), time.time())
            self.from_hub += 1
        return answer
