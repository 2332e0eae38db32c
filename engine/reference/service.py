"""A loaded model and its inference thread: what every HTTP route works with."""

import asyncio
import time
from collections.abc import Sequence

import msgspec

from engine.reference.answer import Answer, Refusal
from engine.reference.figures import Figures
from engine.reference.inference_thread import InferenceThread
from engine.reference.loading import load
from engine.reference.requests import Request, Update
from engine.reference.sampling import SamplingSettings
from engine.reference.scheduler import Scheduler
from engine.reference.settings import ServerSettings
from engine.reference.vocabulary import TextStream, Vocabulary


class Order(msgspec.Struct, frozen=True, kw_only=True):
    """What a client asks for, in tokens."""

    prompt: Sequence[int]
    settings: SamplingSettings
    streaming: bool = False
    hidden_states: bool = False
    recorded: bool = True
    """False keeps it out of the metrics."""
    request_id: str | None = None


class Service:
    """Loads the models; answers requests until it is closed."""

    def __init__(self, settings: ServerSettings) -> None:
        """Raises `CheckpointError` or `SettingsError`."""
        self.settings = settings
        self.loaded = load(settings)
        self.vocabulary = Vocabulary(settings.model_path)
        self.figures = Figures(settings.model_name)
        self.started_at = time.time()
        self.port = settings.port
        scheduler = Scheduler(
            self.loaded.runner,
            self.vocabulary.decode,
            self.figures,
            context=self.loaded.context_length,
            slots=settings.max_running_requests,
            num_steps=self.loaded.num_steps,
            log_interval=settings.decode_log_interval,
        )
        self.thread = InferenceThread(scheduler)

    def start(self) -> None:
        """Begin to answer."""
        self.thread.start()

    async def close(self) -> None:
        """Abort what runs and end the thread."""
        await asyncio.to_thread(self.thread.stop)

    def answers(self, orders: Sequence[Order]) -> list[Answer]:
        """Submit requests: all of them, or none where one cannot be served (`Refusal`)."""
        for order in orders:
            self._refuse_unfit(order.prompt, order.settings, order.hidden_states)
        return [self._submitted(order) for order in orders]

    def _submitted(self, order: Order) -> Answer:
        loop = asyncio.get_running_loop()
        updates: asyncio.Queue[Update] = asyncio.Queue()
        stops = set(order.settings.stop_token_ids)
        if not order.settings.ignore_eos:
            stops.add(self.loaded.config.eos_token_id)
        request = Request(
            tuple(order.prompt),
            order.settings,
            lambda update: loop.call_soon_threadsafe(updates.put_nowait, update),  # type: ignore[arg-type]
            frozenset(stops),
            streaming=order.streaming,
            recorded=order.recorded,
            hidden_states=[] if order.hidden_states else None,
        )
        if order.request_id is not None:
            request.id = order.request_id
        self.thread.submit(request)
        return Answer(request, updates, TextStream(self.vocabulary, order.settings.stop))

    def _refuse_unfit(self, prompt: Sequence[int], settings: SamplingSettings, hidden_states: bool) -> None:
        """The checks and words of SGLang (sglang 0.5.23, managers/tokenizer_manager.py, `_validate_one_request`)."""
        count, context, vocabulary = len(prompt), self.loaded.context_length, self.loaded.config.vocab_size
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
