"""A loaded model and its inference thread: what every HTTP route works with."""

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Sequence

from engine.reference.checkpoint import DRAFT_CLASS, TARGET_CLASS, read_checkpoint
from engine.reference.draft import Draft
from engine.reference.figures import Figures
from engine.reference.inference_thread import InferenceThread
from engine.reference.requests import Finish, Request, Update
from engine.reference.runners import PlainRunner, Runner, SpeculativeRunner
from engine.reference.sampling import SamplingSettings
from engine.reference.scheduler import Scheduler
from engine.reference.settings import (
    ServerSettings,
    SettingsError,
    Speculation,
    captured_layers,
    resolved_speculation,
)
from engine.reference.target import Target
from engine.reference.vocabulary import TextStream, Vocabulary

_log = logging.getLogger("alula.reference")


class Refusal(Exception):
    """A request that is not served: HTTP status, message, and the field at fault where one is."""

    def __init__(self, message: str, status: int = 400, field: str | None = None) -> None:
        super().__init__(message)
        self.status, self.field = status, field


class Answer:
    """One request in flight, seen from the event loop."""

    def __init__(self, request: Request, updates: "asyncio.Queue[Update]", stream: TextStream) -> None:
        self.request, self._updates, self._stream = request, updates, stream
        self.text = ""
        self.tokens: list[int] = []
        self.finish: Finish | None = None

    async def pieces(self) -> AsyncIterator[str]:
        """Text as it comes, the last piece when `finish` is set. Raises `Refusal` where the server gives up."""
        try:
            while self.finish is None:
                update = await self._updates.get()
                self.tokens += update.tokens
                piece = self._stream.fresh(update.tokens)
                if update.finish is not None:
                    if update.finish.type == "abort":
                        raise Refusal(update.finish.message or "The request was aborted.", 503)
                    piece += self._stream.rest(self._stop_string(update.finish))
                self.text += piece
                self.finish = update.finish
                yield piece
        finally:
            self.request.aborted = self.request.aborted or self.finish is None

    async def whole(self) -> str:
        """The finished text."""
        async for _ in self.pieces():
            pass
        return self.text

    def _stop_string(self, finish: Finish) -> str | None:
        keep = self.request.settings.keep_stop
        return finish.matched if isinstance(finish.matched, str) and not keep else None


class Service:
    """Loads the models; answers requests until it is closed."""

    def __init__(self, settings: ServerSettings) -> None:
        """Raises `CheckpointError` or `SettingsError`."""
        began = time.perf_counter()
        self.settings = settings
        self.speculation: Speculation | None = resolved_speculation(settings)
        checkpoint = read_checkpoint(settings.model_path, TARGET_CLASS)
        self.model_config = checkpoint.config
        self.context_length = _context(settings, checkpoint.config.max_position_embeddings)
        self.vocabulary = Vocabulary(settings.model_path)
        self.figures = Figures(settings.model_name)
        self.started_at = time.time()
        self.port = settings.port
        slots, context = settings.max_running_requests, self.context_length
        steps = 0
        if self.speculation is None:
            runner: Runner = PlainRunner(Target(checkpoint, context), slots, context)
        else:
            steps = self.speculation.num_steps
            if settings.speculative_num_draft_tokens not in (None, self.speculation.num_draft_tokens):
                _log.warning("speculative_num_draft_tokens is adjusted to speculative_num_steps + 1 (top-k is 1).")
            draft_checkpoint = read_checkpoint(self.speculation.draft_path, DRAFT_CLASS)
            own = self.speculation.captures_layers
            layers = captured_layers(draft_checkpoint.config, checkpoint.config.num_hidden_layers) if own else ()
            target = Target(checkpoint, context + steps, layers)
            draft = Draft(draft_checkpoint, target, context + steps, own_head=own)
            runner = SpeculativeRunner(target, draft, steps, slots, context, inner_states=own)
        scheduler = Scheduler(
            runner,
            self.vocabulary.decode,
            self.figures,
            context=context,
            slots=slots,
            num_steps=steps,
            log_interval=settings.decode_log_interval,
        )
        self.thread = InferenceThread(scheduler)
        self.load_s = time.perf_counter() - began
        _log.info("Load weight end. elapsed=%.2f s, type=%s, dtype=float32.", self.load_s, TARGET_CLASS)

    def start(self) -> None:
        """Begin to answer."""
        self.thread.start()

    async def close(self) -> None:
        """Abort what runs and end the thread."""
        await asyncio.to_thread(self.thread.stop)

    def answer(
        self,
        prompt: Sequence[int],
        settings: SamplingSettings,
        *,
        streaming: bool = False,
        hidden_states: bool = False,
        recorded: bool = True,
        request_id: str | None = None,
    ) -> Answer:
        """Submit a request. Raises `Refusal` where it cannot be served."""
        self._refuse_unfit(prompt, settings, hidden_states)
        loop = asyncio.get_running_loop()
        updates: asyncio.Queue[Update] = asyncio.Queue()
        stop_ids = set(settings.stop_token_ids) | (set() if settings.ignore_eos else {self.model_config.eos_token_id})
        request = Request(
            tuple(prompt),
            settings,
            lambda update: loop.call_soon_threadsafe(updates.put_nowait, update),  # type: ignore[arg-type]
            frozenset(stop_ids),
            streaming=streaming,
            recorded=recorded,
            hidden_states=[] if hidden_states else None,
        )
        if request_id is not None:
            request.id = request_id
        self.thread.submit(request)
        return Answer(request, updates, TextStream(self.vocabulary, settings.stop))

    def _refuse_unfit(self, prompt: Sequence[int], settings: SamplingSettings, hidden_states: bool) -> None:
        """The checks and words of SGLang (sglang 0.5.23, managers/tokenizer_manager.py, `_validate_one_request`)."""
        count, context, vocabulary = len(prompt), self.context_length, self.model_config.vocab_size
        if count == 0:
            raise Refusal("The input is empty.")
        if any(not 0 <= token < vocabulary for token in prompt):
            raise Refusal(f"The input_ids contain values outside the vocabulary, 0 to {vocabulary - 1}.")
        if count >= context:
            raise Refusal(f"The input ({count} tokens) is longer than the model's context length ({context} tokens).")
        if count + settings.max_new_tokens > context:
            raise Refusal(
                f"Requested token count exceeds the model's maximum context length of {context} tokens. You requested "
                f"a total of {count + settings.max_new_tokens} tokens: {count} tokens from the input messages and "
                f"{settings.max_new_tokens} tokens for the completion. Please reduce the number of tokens in the "
                f"input messages or the completion to fit within the limit."
            )
        if hidden_states and not self.settings.enable_return_hidden_states:
            raise Refusal(
                "The server is not configured to return hidden states. Please set `--enable-return-hidden-states`."
            )


def _context(settings: ServerSettings, longest: int) -> int:
    wanted = settings.context_length or longest
    if not 1 < wanted <= longest:
        raise SettingsError(
            f"--context-length {wanted} is outside the model's 2 to {longest} tokens.", "Give a value in that range."
        )
    return wanted
