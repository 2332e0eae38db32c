"""Continuous batching: new prompts join and finished requests leave between any two decoding steps."""

import logging
import time
from collections import deque
from collections.abc import Callable

from engine.reference.figures import Figures
from engine.reference.log_lines import decode_line, prefill_line
from engine.reference.requests import Finish, Request, Update
from engine.reference.runners import Runner

PROMPT_TOKENS_A_STEP = 1024
"""Prompts are read before each decoding step until this many tokens are reached, so that answers keep flowing."""

_log = logging.getLogger("alula.reference")


class Scheduler:
    """Queue and running batch. Used by one thread only."""

    def __init__(
        self,
        runner: Runner,
        decode: Callable[[list[int]], str],
        figures: Figures,
        *,
        context: int,
        slots: int,
        num_steps: int = 0,
        log_interval: int = 40,
    ) -> None:
        """`decode` turns tokens into text; `num_steps` drafted tokens stand in each step, 0 without speculation."""
        self._runner, self._decode, self._figures = runner, decode, figures
        self._context, self._slots, self._num_steps, self._log_interval = context, slots, num_steps, log_interval
        self._waiting: deque[Request] = deque()
        self._running: list[Request] = []
        self._last_step = time.perf_counter()
        self._interval = _Interval()
        figures.set(max_total_num_tokens=slots * context, context_len=context, page_size=1)
        figures.set(spec_num_steps=num_steps, spec_num_draft_tokens=num_steps + 1 if num_steps else 0)

    @property
    def busy(self) -> bool:
        """True while any request waits or runs."""
        return bool(self._waiting or self._running)

    def add(self, request: Request) -> None:
        """Queue a request."""
        self._waiting.append(request)

    def abort_all(self, message: str) -> None:
        """End every request now."""
        for request in [*self._waiting, *self._running]:
            request.aborted = True
            request.finish = Finish("abort", message=message)
        self._hand_out([])

    def step(self) -> None:
        """Read prompts that have room, then decode once for all that run."""
        began = time.perf_counter()
        self._hand_out(self._admitted())
        if self._running:
            self._hand_out(self._decoded())
        self._interval.seconds += time.perf_counter() - began
        if self._interval.steps >= self._log_interval:
            self._close_interval()

    def _admitted(self) -> list[Request]:
        budget = PROMPT_TOKENS_A_STEP
        admitted = []
        while self._waiting and len(self._running) < self._slots and budget > 0:
            request = self._waiting.popleft()
            budget -= len(request.prompt)
            began = request.timeline.admitted = time.perf_counter()
            tokens = self._runner.admit(len(self._running), request)
            self._last_step = request.timeline.first_token = time.perf_counter()
            rate = len(request.prompt) / (self._last_step - began)
            _log.info(prefill_line(len(request.prompt), self._usage, len(self._running), len(self._waiting), rate))
            self._running.append(request)
            request.extend(tokens, self._context, self._decode)
            if request.recorded:
                self._figures.add_first_token(request)
            admitted.append(request)
        return admitted

    def _decoded(self) -> list[Request]:
        results = self._runner.advance(self._running)
        if self._num_steps:
            self._figures.add_verifications(len(results), sum(len(tokens) - 1 for tokens in results))
        for request, tokens in zip(self._running, results, strict=True):
            before = len(request.tokens)
            request.extend(tokens, self._context, self._decode)
            if request.recorded:
                self._figures.add_tokens(len(request.tokens) - before, self._last_step)
            self._interval.tokens += len(tokens)
        self._last_step = time.perf_counter()
        self._interval.steps += 1
        self._interval.rows += len(results)
        return list(self._running)

    def _hand_out(self, changed: list[Request]) -> None:
        """Tell the waiting sides last: whoever has an answer finds its place free and its figures counted."""
        aborted = [request for request in [*self._waiting, *self._running] if request.aborted]
        for request in aborted:
            request.finish = request.finish or Finish("abort", message="The request was aborted.")
        self._drop_finished()
        updates = [(request, self._update(request)) for request in {id(one): one for one in aborted + changed}.values()]
        self._show()
        for request, update in updates:
            if update is not None:
                request.deliver(update)

    def _update(self, request: Request) -> Update | None:
        fresh = tuple(request.tokens[request.delivered :])
        if request.finish is None and not (request.streaming and fresh):
            return None
        request.delivered = len(request.tokens)
        if request.finish is not None:
            request.timeline.finished = time.perf_counter()
            if request.recorded:
                self._figures.add_finished(request)
        return Update(fresh, request.finish)

    def _drop_finished(self) -> None:
        self._waiting = deque(request for request in self._waiting if request.finish is None)
        for slot in reversed(range(len(self._running))):
            request = self._running[slot]
            if request.finish is not None:
                last = self._running.pop()
                if last is not request:
                    self._running[slot] = last
                    self._runner.move(len(self._running), slot, last.length)

    def _close_interval(self) -> None:
        interval, self._interval = self._interval, _Interval()
        rate = interval.tokens / interval.seconds
        self._figures.last_throughput = rate
        self._figures.set(gen_throughput=rate)
        accept = None
        if self._num_steps:
            length = interval.tokens / interval.rows
            accept = length, (length - 1) / self._num_steps
            self._figures.set(spec_accept_length=accept[0], spec_accept_rate=accept[1])
        running, queued = len(self._running), len(self._waiting)
        _log.info(decode_line(running, self._tokens, self._usage, accept, rate, queued))

    @property
    def _tokens(self) -> int:
        return sum(request.length for request in self._running)

    @property
    def _usage(self) -> float:
        return self._tokens / (self._slots * self._context)

    def _show(self) -> None:
        self._figures.set(
            num_running_reqs=len(self._running),
            num_queue_reqs=len(self._waiting),
            num_used_tokens=self._tokens,
            token_usage=self._usage,
        )
        if not self.busy:
            self._figures.set(gen_throughput=0.0)


class _Interval:
    """Sums between two log lines. Idle time does not count."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.steps = self.rows = self.tokens = 0
