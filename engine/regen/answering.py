"""Answers one sample: all its turns in order, each tried again where that may help, with a server that may go away."""

import asyncio
import random
import time

import tenacity

from engine.regen.records import Answer, Failure, Message, Sample
from engine.regen.server import ChatServer, ServerDown, Turn, Unanswered

TRIES = 5
FIRST_WAIT_S = 0.5
LONGEST_WAIT_S = 30.0
OUTAGES_BORNE = 40
"""So often may a server that seems healthy turn one turn away while it answers nobody else: about 20 minutes."""


class ServerGate:
    """Shut while the server is away, so that one slot asks whether it is back and not all of them."""

    def __init__(self, server: ChatServer) -> None:
        self.server = server
        self.message = ""
        """Why it is shut; empty while it is open."""
        self.model_changed: str | None = None
        """Another model's name, where the server came back with one. The run must stop then."""
        self._open = asyncio.Event()
        self._open.set()
        self.answered = 0
        """Turns answered so far: tells a prompt that is turned away from a server that turns all away."""
        self._wait_s = FIRST_WAIT_S
        self._asking: asyncio.Task[None] | None = None

    def check(self) -> None:
        """Raise what ended the asking for the server, which would else leave the gate shut for ever."""
        if self._asking is not None and self._asking.done() and not self._asking.cancelled():
            self._asking.result()

    async def passed(self) -> None:
        """Wait until the server is there."""
        await self._open.wait()

    def worked(self) -> None:
        """A turn was answered: the next outage begins with a short wait again."""
        self.answered += 1
        self._wait_s = FIRST_WAIT_S

    def shut(self, reason: str, *, look_first: bool = False) -> None:
        """Hold everybody until the server answers again with the same model; `look_first`: ask it before any wait."""
        self.message = reason
        if self._asking is None or self._asking.done():
            self._open.clear()
            self._asking = asyncio.create_task(self._ask_until_back(look_first))

    async def _ask_until_back(self, look_first: bool) -> None:
        while True:
            if not look_first:
                await asyncio.sleep(self._wait_s * random.uniform(0.7, 1.3))
                self._wait_s = min(self._wait_s * 1.7, LONGEST_WAIT_S)
            look_first = False
            try:
                model = await self.server.served_model()
            except ServerDown as error:
                self.message = str(error)
                continue
            if model != self.server.model:
                self.model_changed = model
                return
            self.message = ""
            self._open.set()
            return


async def answer_sample(number: int, sample: Sample, server: ChatServer, gate: ServerGate) -> Answer | Failure:
    """Have all turns of a sample answered. Time spent waiting for a server that is away is not counted."""
    messages = [Message("system", sample.system)] if sample.system is not None else []
    turns: list[Turn] = []
    seconds = 0.0
    for user in sample.users:
        messages.append(Message("user", user))
        try:
            turn, took_s = await _ask_with_tries(messages, server, gate)
        except Unanswered as error:
            return Failure(number=number, kind=error.kind, message=str(error), tries=TRIES if error.again else 1)
        seconds += took_s
        messages.append(turn.message)
        turns.append(turn)
    return Answer(
        number=number,
        assistants=tuple(turn.message for turn in turns),
        finish_reasons=tuple(turn.finish_reason for turn in turns),
        prompt_tokens=sum(turn.prompt_tokens for turn in turns),
        completion_tokens=sum(turn.completion_tokens for turn in turns),
        seconds=seconds,
    )


async def _ask_with_tries(messages: list[Message], server: ChatServer, gate: ServerGate) -> tuple[Turn, float]:
    retrying = tenacity.AsyncRetrying(
        retry=tenacity.retry_if_exception(lambda error: isinstance(error, Unanswered) and error.again),
        stop=tenacity.stop_after_attempt(TRIES),
        wait=_wait_s,
        reraise=True,
    )
    async for attempt in retrying:
        with attempt:
            return await _ask_when_there(messages, server, gate)
    raise AssertionError("tenacity ends by returning or raising")


async def _ask_when_there(messages: list[Message], server: ChatServer, gate: ServerGate) -> tuple[Turn, float]:
    outages, alone = 0, 0
    while True:
        await gate.passed()
        began, answered = time.monotonic(), gate.answered
        try:
            turn = await server.ask(messages)
        except ServerDown as error:
            outages, alone = outages + 1, alone + (gate.answered > answered)
            if alone >= TRIES or outages >= OUTAGES_BORNE:
                raise Unanswered("server_error", f"turned away {outages} times: {error}", again=False) from error
            gate.shut(str(error))
        except Unanswered as error:
            if error.kind == "connection_lost":  # the server may have been started anew, with another model
                gate.shut(str(error), look_first=True)
            raise
        else:
            if turn.model and turn.model != server.model:
                gate.shut(f"an answer came from {turn.model}", look_first=True)
                raise Unanswered("rubbish_answer", f"answered by {turn.model}, not {server.model}", again=True)
            gate.worked()
            return turn, time.monotonic() - began


def _wait_s(state: tenacity.RetryCallState) -> float:
    error = state.outcome.exception() if state.outcome else None
    asked = error.wait_s if isinstance(error, Unanswered) else None
    backed_off = tenacity.wait_exponential(multiplier=FIRST_WAIT_S, max=LONGEST_WAIT_S)(state)
    return max(asked or 0.0, backed_off * random.uniform(0.7, 1.3))
