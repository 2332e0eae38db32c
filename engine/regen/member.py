"""One server of a pool: whether it may be asked, how much it is given, what it gave."""

import asyncio
import math
import random
import time
from collections.abc import Callable
from typing import Literal

import msgspec

from engine.regen.guard import Guard
from engine.regen.records import Turn
from engine.regen.server import ChatServer
from engine.regen.steering import ServerEntry
from engine.regen.tuning import Measured, Tuning, enough, judge
from engine.regen.wire import Overloaded, ServerDown
from state.records.regeneration import RegenerationServer

FIRST_WAIT_S = 0.5
LONGEST_WAIT_S = 30.0
OVERLOAD_WAIT_S = 0.5
"""Least time for which a server that said «too many» (429) is given nothing new."""
CLOCK_SLACK_S = 0.02
CUT_TO = 0.7
"""Share of what was in flight that a server is given after it said that this was too much (429)."""
LOOK_AGAIN_S = 60.0
"""So often a server is asked who it is while it answers: behind a router servers change without a lost connection."""
SPEED_KNOWN = 20
"""Answers after which a server's usual speed sets its time limit."""

State = Literal["asked", "away", "overloaded", "leaving"]


class Member:
    """A circuit breaker, a count of what is outstanding, and a search for the right concurrency."""

    def __init__(self, server: ChatServer, entry: ServerEntry, guard: Guard, changed: Callable[[], None]) -> None:
        self.server = server
        self.entry = entry
        self.in_flight = 0
        self.answered = self.failed = 0
        self.message = ""
        """Why it is not asked; empty while it is."""
        self.problem: str | None = None
        """It is not what the run began with. The run must pause."""
        self.leaving = False
        self.tuning = Tuning()
        self._tokens = self._seconds = 0.0
        self._guard = guard
        self._changed = changed
        self._away = False
        self._overloaded_until = 0.0
        self._ceiling = math.inf
        self._wait_s = FIRST_WAIT_S
        self._asking: asyncio.Task[None] | None = None
        self._looking: asyncio.Task[None] | None = None
        self._looked_at = time.monotonic()
        self._measured = Measured(0.0, 0, 0.0, 0.0)
        self._level_since = time.monotonic()

    @property
    def state(self) -> State:
        """Whether it may be asked."""
        if self.leaving:
            return "leaving"
        if self._away:
            return "away"
        return "overloaded" if time.monotonic() < self._overloaded_until else "asked"

    def has_room(self, most: float) -> bool:
        """Whether it may be given one more where `most` at once are allowed."""
        return self.state == "asked" and self.in_flight < min(most, self._ceiling)

    def check(self) -> None:
        """Raise what ended the asking for the server, which would else stay away for ever; see at times who it is."""
        for task in (self._asking, self._looking):
            if task is not None and task.done() and not task.cancelled():
                task.result()
        if self.state == "asked" and time.monotonic() > self._looked_at + LOOK_AGAIN_S:
            self._looked_at = time.monotonic()
            self._looking = asyncio.create_task(self._look_again())

    def shut(self, reason: str, *, look_first: bool = False) -> None:
        """Ask it nothing until it answers again as the same; `look_first`: look before any wait."""
        self.message = reason
        if self._asking is None or self._asking.done():
            self._away = True
            self._asking = asyncio.create_task(self._ask_until_back(look_first))

    def overloaded(self, error: Overloaded) -> None:
        """It turned a request away as one too many: give it less, and nothing for a while."""
        wait_s = max(error.wait_s or 0.0, OVERLOAD_WAIT_S * random.uniform(0.7, 1.3))
        if self.state == "asked":  # the others of the same moment were turned away for the same reason
            self._ceiling = max(1.0, min(self._ceiling, self.in_flight) * CUT_TO)
        self._overloaded_until = max(self._overloaded_until, time.monotonic() + wait_s)
        self.message = str(error)
        self._measured = msgspec.structs.replace(self._measured, overloaded=self._measured.overloaded + 1)
        asyncio.get_running_loop().call_later(wait_s + CLOCK_SLACK_S, self._changed)

    def worked(self, turn: Turn, seconds: float, level: int) -> None:
        """A turn was answered, asked when `level` requests were allowed at once."""
        self.answered += 1
        self._wait_s = FIRST_WAIT_S
        self.message = ""
        self._ceiling += 1 / self._ceiling
        self._tokens += turn.completion_tokens
        self._seconds += seconds
        if self.answered >= SPEED_KNOWN and self._seconds > 0:
            self.server.usual_speed(self._tokens / self._seconds)
        if level == self.tuning.at_once:
            one = self._measured
            self._measured = Measured(
                0.0, one.answers + 1, one.tokens + turn.completion_tokens, one.seconds + seconds, None, one.overloaded
            )

    async def tune(self, most: int) -> None:
        """Judge the present concurrency once it was seen for long enough."""
        measured = msgspec.structs.replace(self._measured, span_s=time.monotonic() - self._level_since)
        if not enough(self.tuning, measured):
            return
        try:
            queued = await self.server.queued()
        except ServerDown:
            queued = None
        before = self.tuning
        self.tuning = judge(before, msgspec.structs.replace(measured, queued=queued), most)
        self._measured = Measured(0.0, 0, 0.0, 0.0)
        self._level_since = time.monotonic()
        if self.tuning.at_once > before.at_once:
            self._changed()

    def told(self, fixed: int | None) -> RegenerationServer:
        """For operators; `fixed` requests at once are allowed on all servers together, where that was given."""
        at_once, reason = self.tuning.at_once, self.tuning.reason
        if fixed is not None:
            at_once, reason = fixed, f"{fixed} at once on all servers, as given"
        if self._ceiling < at_once:
            at_once, reason = int(self._ceiling), "it turned away more at once (429)"
        return RegenerationServer(
            url=self.server.url,
            state=self.state,
            message=self.message,
            weight=self.entry.weight,
            in_flight=self.in_flight,
            concurrency=at_once,
            answered=self.answered,
            failed=self.failed,
            tokens_per_s=self._tokens / self._seconds * self.in_flight if self._seconds else None,
            decision=reason,
        )

    async def close(self) -> None:
        """Ask no more."""
        tasks = [task for task in (self._asking, self._looking) if task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self.server.close()

    async def _look_again(self) -> None:
        try:
            self.problem = self._guard.problem(self.server.url, await self.server.identity())
        except ServerDown:
            return  # a server at its limit may be slow to say; whether it answers, its answers tell

    async def _ask_until_back(self, look_first: bool) -> None:
        while True:
            if not look_first:
                await asyncio.sleep(self._wait_s * random.uniform(0.7, 1.3))
                self._wait_s = min(self._wait_s * 1.7, LONGEST_WAIT_S)
            look_first = False
            try:
                identity = await self.server.identity()
            except ServerDown as error:
                self.message = str(error)
                continue
            self.problem = self._guard.problem(self.server.url, identity)
            if self.problem is None:
                self.message = ""
                self._away = False
                self._changed()
            return
