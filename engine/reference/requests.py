"""One request on its way through the server."""

import time
import uuid
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

import msgspec
import numpy

from engine.reference.checkpoint import Floats
from engine.reference.sampling import SamplingSettings


class Finish(msgspec.Struct, frozen=True, omit_defaults=True):
    """Why a request ended, as `meta_info.finish_reason` reports it."""

    type: Literal["stop", "length", "abort"]
    matched: int | str | None = None
    """The token id or string that ended it."""
    length: int | None = None
    message: str | None = None

    def public(self) -> Mapping[str, object]:
        """As JSON shows it."""
        return {key: value for key, value in msgspec.structs.asdict(self).items() if value is not None}


class Update(msgspec.Struct, frozen=True):
    """New output of a request, handed from the inference thread to whoever waits for it."""

    tokens: tuple[int, ...]
    finish: Finish | None


@dataclass(slots=True)
class Timeline:
    """Moments on the monotonic clock, in seconds; `None` until they come."""

    received: float = field(default_factory=time.perf_counter)
    admitted: float | None = None
    first_token: float | None = None
    finished: float | None = None


@dataclass(slots=True)
class Request:
    """State of one request. Only the inference thread changes it once it is submitted."""

    prompt: tuple[int, ...]
    settings: SamplingSettings
    deliver: Callable[[Update], None]
    """Called in the inference thread, with every new token where `streaming`, else once at the end."""
    stop_ids: frozenset[int]
    streaming: bool = False
    recorded: bool = True
    """False for health checks, which the metrics leave out."""
    hidden_states: list[Floats] | None = None
    """The target's states of prompt and answer, as handed to a draft: captured layers under EAGLE3, else final ones
    (so answered by SGLang 0.5.17 on an H200). Collected where this is a list."""
    id: str = field(default_factory=lambda: uuid.uuid4().hex)
    tokens: list[int] = field(default_factory=list)
    delivered: int = 0
    finish: Finish | None = None
    aborted: bool = False
    accepted: Counter[int] = field(default_factory=Counter)
    """Verifications by the number of drafted tokens that stood."""
    timeline: Timeline = field(default_factory=Timeline)
    random: numpy.random.Generator = field(init=False)

    def __post_init__(self) -> None:
        self.random = numpy.random.Generator(numpy.random.PCG64(self.settings.seed))

    @property
    def length(self) -> int:
        """Tokens of prompt and answer so far."""
        return len(self.prompt) + len(self.tokens)

    @property
    def verifications(self) -> int:
        """Forward passes of the target that checked drafted tokens."""
        return self.accepted.total()

    @property
    def correct_drafts(self) -> int:
        """Drafted tokens that stood, those past the end of the answer counted too, as SGLang counts."""
        return sum(count * times for count, times in self.accepted.items())

    def extend(self, tokens: list[int], context: int, decode: Callable[[list[int]], str]) -> None:
        """Append committed tokens up to the first that ends the answer; set `finish` there."""
        for token in tokens:
            self.tokens.append(token)
            self.finish = self._ending(token, context, decode)
            if self.finish is not None:
                return

    def _ending(self, token: int, context: int, decode: Callable[[list[int]], str]) -> Finish | None:
        count = len(self.tokens)
        if count >= self.settings.max_new_tokens or self.length >= context:
            return Finish("length", length=count)
        if count < self.settings.min_new_tokens:
            return None
        if token in self.stop_ids:
            return Finish("stop", matched=token)
        if self.settings.stop:
            reach = max(len(stop) for stop in self.settings.stop) + 8
            tail = decode(self.tokens[-reach:])
            found = next((stop for stop in self.settings.stop if stop in tail), None)
            return None if found is None else Finish("stop", matched=found)
        return None
