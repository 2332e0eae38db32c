"""Decoding of many requests at once: one token a step, or a drafted chain verified a step."""

from collections.abc import Sequence
from typing import Protocol

import numpy

from engine.reference.checkpoint import Floats
from engine.reference.draft import Draft
from engine.reference.layers import Integers
from engine.reference.requests import Request
from engine.reference.sampling import committed, next_token
from engine.reference.target import Target, TargetStates


class Runner(Protocol):
    """Owns the caches. Slot r belongs to the r-th running request."""

    def admit(self, slot: int, request: Request) -> list[int]:
        """Read a prompt into a slot; return the first token of the answer."""

    def advance(self, requests: Sequence[Request]) -> list[list[int]]:
        """One decoding step for the requests in slots 0, 1, ...: each one's new tokens."""

    def move(self, source: int, destination: int, length: int) -> None:
        """Move a request of `length` tokens to another slot."""


class PlainRunner:
    """The target alone: a token for each request and step."""

    def __init__(self, target: Target, slots: int, context: int) -> None:
        self._target = target
        self._cache = target.new_cache(slots, context)

    def admit(self, slot: int, request: Request) -> list[int]:
        """Read the prompt."""
        tokens = numpy.array([request.prompt])
        final = self._target.forward(tokens, numpy.arange(tokens.shape[1])[None], self._cache, slot).final[0]
        _collect(request, final)
        return [next_token(self._target.logits(final[-1]), request.settings, request.random)]

    def advance(self, requests: Sequence[Request]) -> list[list[int]]:
        """One token each."""
        tokens = numpy.array([[request.tokens[-1]] for request in requests])
        positions = numpy.array([[request.length - 1] for request in requests])
        final = self._target.forward(tokens, positions, self._cache, 0).final[:, 0]
        logits = self._target.logits(final)
        for row, request in enumerate(requests):
            _collect(request, final[row : row + 1])
        return [[next_token(logits[row], r.settings, r.random)] for row, r in enumerate(requests)]

    def move(self, source: int, destination: int, length: int) -> None:
        """Move the target's cache."""
        self._cache.move(source, destination, length)


class SpeculativeRunner:
    """A chain of `steps` drafted tokens for each request, verified by the target in one pass."""

    def __init__(self, target: Target, draft: Draft, steps: int, slots: int, context: int, inner_states: bool) -> None:
        self._target, self._draft, self._steps, self._inner_states = target, draft, steps, inner_states
        self._cache = target.new_cache(slots, context + steps)
        self._draft_cache = draft.new_cache(slots, context + steps)
        self._states = numpy.zeros((slots, 1, draft.config.hidden_size), dtype=numpy.float32)
        """The draft's state after each request's newest token: what its next token is proposed from."""

    def admit(self, slot: int, request: Request) -> list[int]:
        """Read the prompt into both caches."""
        tokens = numpy.array([request.prompt])
        positions = numpy.arange(tokens.shape[1])[None]
        states = self._target.forward(tokens, positions, self._cache, slot)
        _collect(request, self._handed_over(states)[0])
        first = next_token(self._target.logits(states.final[0, -1]), request.settings, request.random)
        following = numpy.array([[*request.prompt[1:], first]])
        drafted = self._draft.forward(following, self._handed_over(states), positions, self._draft_cache, slot)
        self._states[slot] = drafted[0, -1:]
        return [first]

    def advance(self, requests: Sequence[Request]) -> list[list[int]]:
        """Draft, verify, and let the draft read what stands."""
        newest = numpy.array([[request.tokens[-1]] for request in requests])
        last = numpy.array([[request.length - 1] for request in requests])
        chains = self._chains(last)
        positions = last + numpy.arange(self._steps + 1)
        states = self._target.forward(numpy.concatenate([newest, chains], axis=1), positions, self._cache, 0)
        logits = self._target.logits(states.final)
        standing = [
            committed(chains[row].tolist(), logits[row], request.settings, request.random)
            for row, request in enumerate(requests)
        ]
        self._read(standing, states, positions)
        for row, (request, tokens) in enumerate(zip(requests, standing, strict=True)):
            request.accepted[len(tokens) - 1] += 1
            _collect(request, self._handed_over(states)[row, : len(tokens)])
        return standing

    def move(self, source: int, destination: int, length: int) -> None:
        """Move both caches and the draft's state."""
        self._cache.move(source, destination, length)
        self._draft_cache.move(source, destination, length)
        self._states[destination] = self._states[source]

    def _chains(self, last: Integers) -> Integers:
        states = self._states[: len(last)]
        drafted = [self._draft.proposed(states)]
        for step in range(self._steps - 1):
            states = self._draft.forward(drafted[-1], states, last + step, self._draft_cache, 0)
            drafted.append(self._draft.proposed(states))
        return numpy.concatenate(drafted, axis=1)

    def _read(self, standing: list[list[int]], states: TargetStates, positions: Integers) -> None:
        following = numpy.zeros_like(positions)
        for row, tokens in enumerate(standing):
            following[row, : len(tokens)] = tokens
        drafted = self._draft.forward(following, self._handed_over(states), positions, self._draft_cache, 0)
        ends = [len(tokens) - 1 for tokens in standing]
        self._states[: len(standing), 0] = drafted[numpy.arange(len(standing)), ends]

    def _handed_over(self, states: TargetStates) -> Floats:
        return states.captured if self._inner_states and states.captured is not None else states.final


def _collect(request: Request, final: Floats) -> None:
    if request.hidden_states is not None:
        request.hidden_states.append(final.copy())
