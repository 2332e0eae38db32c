"""All servers of a run: each request goes to the one with the least outstanding work for its weight."""

import asyncio
from collections import deque
from collections.abc import Callable, Iterable

from engine.regen.guard import Guard
from engine.regen.member import Member
from engine.regen.server import ChatServer
from engine.regen.steering import ServerEntry
from engine.regen.tuning import MOST
from state.records.regeneration import RegenerationServer


class Pool:
    """Servers that come and go while requests are under way. `concurrency` `None`: each server's is found by trying."""

    def __init__(self, guard: Guard, make_server: Callable[[str], ChatServer], concurrency: int | None) -> None:
        self.members: dict[str, Member] = {}
        self.concurrency = concurrency
        self._guard = guard
        self._make_server = make_server
        self._waiting: deque[asyncio.Future[Member]] = deque()
        self._waiting_first: deque[asyncio.Future[Member]] = deque()
        self._leaving: set[Member] = set()

    def set_servers(self, entries: Iterable[ServerEntry]) -> None:
        """Ask these servers from now on. One that is left out is asked nothing more; what it works on may end."""
        wanted = {entry.url.rstrip("/"): entry for entry in entries}
        for url in [url for url in self.members if url not in wanted]:
            member = self.members.pop(url)
            member.leaving = True
            self._leaving.add(member)
        for url, entry in wanted.items():
            if url in self.members:
                self.members[url].entry = entry
            else:
                self.members[url] = Member(self._make_server(url), entry, self._guard, self.wake)
                self.members[url].shut(f"asking {url} who it is", look_first=True)
        self.wake()

    def set_concurrency(self, concurrency: int | None) -> None:
        """Requests at once on all servers, or `None`."""
        self.concurrency = concurrency
        self.wake()

    def slots(self) -> int:
        """How many requests are allowed at once now."""
        if self.concurrency is not None:
            return self.concurrency
        return sum(member.tuning.at_once for member in self.members.values() if member.state != "away")

    def all_away(self) -> bool:
        """Whether no server can be asked."""
        return not any(member.state in ("asked", "overloaded") for member in self.members.values())

    def problem(self) -> str | None:
        """A server that is not what the run began with."""
        return next((member.problem for member in self.members.values() if member.problem), None)

    def message(self) -> str:
        """Which servers are not asked, and why; empty where all are."""
        if not self.members:
            return "no server: add one with alula regen servers RUN add URL"
        out = [member for member in self.members.values() if member.message and member.state != "asked"]
        if not out:
            return ""
        if len(self.members) == 1:
            return out[0].message
        return f"{len(out)} of {len(self.members)} servers not asked: {'; '.join(member.message for member in out)}"

    async def acquire(self, *, first: bool = False) -> Member:
        """A server with room, once there is one; `first`: before all others that wait. To be released."""
        ahead = self._waiting_first or (self._waiting and not first)
        member = None if ahead else self._best()
        if member is not None:
            member.in_flight += 1
            return member
        future: asyncio.Future[Member] = asyncio.get_running_loop().create_future()
        (self._waiting_first if first else self._waiting).append(future)
        try:
            return await future
        except asyncio.CancelledError:
            if future.done() and not future.cancelled():
                self.release(future.result())
            raise

    def release(self, member: Member) -> None:
        """Its request has ended."""
        member.in_flight -= 1
        self.wake()

    def wake(self) -> None:
        """Give room to those who wait."""
        while (self._waiting_first or self._waiting) and (member := self._best()) is not None:
            future = (self._waiting_first or self._waiting).popleft()
            if not future.done():
                member.in_flight += 1
                future.set_result(member)

    async def look(self) -> None:
        """To be called once a second: tunes, and closes what has left."""
        for member in [*self.members.values()]:
            member.check()
            if self.concurrency is None and member.state == "asked":
                await member.tune(MOST)
        for member in [member for member in self._leaving if member.in_flight == 0]:
            self._leaving.discard(member)
            await member.close()

    def told(self) -> tuple[RegenerationServer, ...]:
        """For operators."""
        return tuple(member.told(self.concurrency) for member in (*self.members.values(), *self._leaving))

    async def close(self) -> None:
        """Ask nobody any more."""
        for member in (*self.members.values(), *self._leaving):
            await member.close()

    def _best(self) -> Member | None:
        outstanding = sum(member.in_flight for member in (*self.members.values(), *self._leaving))
        if self.concurrency is not None and outstanding >= self.concurrency:
            return None
        with_room = [
            member
            for member in self.members.values()
            if member.has_room(self.concurrency if self.concurrency is not None else member.tuning.at_once)
        ]
        return min(with_room, key=lambda member: (member.in_flight + 1) / member.entry.weight, default=None)
