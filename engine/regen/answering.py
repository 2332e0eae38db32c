"""Answers one sample: all its turns in order, each tried again where that may help, on whichever server has room."""

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Sequence

from engine.regen.member import FIRST_WAIT_S, LONGEST_WAIT_S, Member
from engine.regen.pool import Pool
from engine.regen.records import Answer, Failure, Message, Sample, Sampling, Turn
from engine.regen.server import ChatServer
from engine.regen.wire import Overloaded, ServerDown, Unanswered
from state.outside_text import plain_line

TRIES = 5
OUTAGES_BORNE = 40
"""So often may servers that seem healthy turn one turn away while they answer nobody else: about 20 minutes."""

Ask = Callable[[ChatServer, Sequence[Message], Sequence[Turn]], Awaitable[Turn]]
"""Asks one server for the next turn of a conversation; the turns before are the assistant's so far."""


class Lease:
    """The place of one sample on a server. It keeps it between turns, so that the server's prefix cache helps."""

    def __init__(self, pool: Pool, member: Member) -> None:
        self.pool = pool
        self.member: Member | None = member

    async def take(self) -> Member:
        """The server to ask; the one before if it may still be asked."""
        if self.member is not None and self.member.state != "asked":
            self.give_up()
        if self.member is None:
            self.member = await self.pool.acquire(first=True)
        return self.member

    def give_up(self) -> None:
        """Leave the server."""
        if self.member is not None:
            member, self.member = self.member, None
            self.pool.release(member)


async def answer_sample(number: int, sample: Sample, lease: Lease, ask: Ask) -> Answer | Failure:
    """Have all turns of a sample answered. Time spent waiting for a server that is away is not counted."""
    messages = [Message("system", sample.system)] if sample.system is not None else []
    turns: list[Turn] = []
    seconds = 0.0
    for user in sample.users:
        messages.append(Message("user", user))
        try:
            turn, took_s = await _ask_with_tries(messages, turns, lease, ask)
        except Unanswered as error:
            if lease.member is not None:
                lease.member.failed += 1
            return Failure(number=number, kind=error.kind, message=str(error), tries=TRIES if error.again else 1)
        seconds += took_s
        messages.append(turn.message)
        turns.append(turn)
        if turn.message.tool_calls:
            break
    return Answer(
        number=number,
        assistants=tuple(turn.message for turn in turns),
        finish_reasons=tuple(turn.finish_reason for turn in turns),
        prompt_tokens=sum(turn.prompt_tokens for turn in turns),
        completion_tokens=sum(turn.completion_tokens for turn in turns),
        seconds=seconds,
        tokens=tuple(turn.tokens for turn in turns if turn.tokens is not None),
    )


def chat(sample: Sample, sampling: Sampling) -> Ask:
    """Ask over the chat surface."""

    def ask(server: ChatServer, messages: Sequence[Message], turns: Sequence[Turn]) -> Awaitable[Turn]:
        return server.ask(messages, sampling, sample.tools)

    return ask


async def _ask_with_tries(messages: list[Message], turns: list[Turn], lease: Lease, ask: Ask) -> tuple[Turn, float]:
    for attempt in range(1, TRIES + 1):
        try:
            return await _ask_when_there(messages, turns, lease, ask)
        except Unanswered as error:
            if not error.again or attempt == TRIES:
                raise
            await asyncio.sleep(_wait_s(attempt, error))
    raise AssertionError("the last try returns or raises")


async def _ask_when_there(messages: list[Message], turns: list[Turn], lease: Lease, ask: Ask) -> tuple[Turn, float]:
    outages, alone = 0, 0
    while True:
        member = await lease.take()
        began, answered, level = time.monotonic(), member.answered, member.tuning.at_once
        try:
            turn = await ask(member.server, messages, turns)
        except Overloaded as error:
            outages += 1
            member.overloaded(error)
            if outages >= OUTAGES_BORNE:
                raise Unanswered("server_error", f"turned away {outages} times: {error}", again=False) from error
        except ServerDown as error:
            outages, alone = outages + 1, alone + (member.answered > answered)
            if alone >= TRIES or outages >= OUTAGES_BORNE:
                raise Unanswered("server_error", f"turned away {outages} times: {error}", again=False) from error
            member.shut(str(error))
        except Unanswered as error:
            if error.kind == "connection_lost":  # the server may have been started anew, with another model
                member.shut(str(error), look_first=True)
            raise
        else:
            stranger = _stranger(turn, member.server)
            if stranger:
                member.shut(f"an answer came from {stranger}", look_first=True)
                raise Unanswered("rubbish_answer", f"answered by {stranger}", again=True)
            took_s = time.monotonic() - began
            member.worked(turn, took_s, level)
            return turn, took_s


def _stranger(turn: Turn, server: ChatServer) -> str:
    """Who answered instead of the server as it was when it was last asked who it is; empty where it did itself."""
    if turn.model and turn.model != server.model:
        return f"{plain_line(turn.model, 100)}, not {server.model}"
    weights = server.flag("weight_version")
    if turn.weight_version and weights is not None and turn.weight_version != weights:
        return f"weights of version {plain_line(turn.weight_version, 100)}, not {plain_line(str(weights), 100)}"
    return ""


def _wait_s(attempt: int, error: Unanswered) -> float:
    backed_off: float = min(LONGEST_WAIT_S, FIRST_WAIT_S * 2.0 ** float(attempt - 1))
    return max(error.wait_s or 0.0, backed_off * random.uniform(0.7, 1.3))
