"""Request bodies of SGLang's own and of OpenAI's endpoints, as far as the reference server serves them."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import msgspec
from aiohttp import web

from engine.reference.answer import Refusal
from engine.reference.sampling import SamplingSettings
from engine.reference.vocabulary import ChatMessage

Body = TypeVar("Body")


class NativeSampling(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`sampling_params` of `/generate`."""

    max_new_tokens: int | None = None
    stop: str | list[str] | None = None
    stop_token_ids: list[int] | None = None
    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None
    min_p: float | None = None
    ignore_eos: bool | None = None
    min_new_tokens: int | None = None
    sampling_seed: int | None = None
    no_stop_trim: bool | None = None
    skip_special_tokens: bool | None = None
    spaces_between_special_tokens: bool | None = None
    n: int | None = None
    frequency_penalty: float | None = None
    presence_penalty: float | None = None
    repetition_penalty: float | None = None


class GenerateBody(msgspec.Struct, frozen=True, kw_only=True):
    """Body of `/generate`. Unknown fields are ignored."""

    text: str | list[str] | None = None
    input_ids: list[Any] | None = None
    sampling_params: NativeSampling | list[NativeSampling] | None = None
    rid: str | list[str] | None = None
    stream: bool = False
    return_hidden_states: bool = False
    return_logprob: bool | list[bool] | None = False


class StreamOptions(msgspec.Struct, frozen=True, kw_only=True):
    """`stream_options` of the OpenAI endpoints."""

    include_usage: bool = False


class OpenAiBody(msgspec.Struct, frozen=True, kw_only=True):
    """What chats and completions share."""

    model: str = "default"
    max_tokens: int | None = None
    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None
    min_p: float | None = None
    stop: str | list[str] | None = None
    stop_token_ids: list[int] | None = None
    seed: int | None = None
    n: int | None = None
    stream: bool = False
    stream_options: StreamOptions | None = None
    ignore_eos: bool = False
    min_tokens: int = 0
    no_stop_trim: bool = False
    frequency_penalty: float | None = None
    presence_penalty: float | None = None
    repetition_penalty: float | None = None


class ChatBody(OpenAiBody, frozen=True, kw_only=True):
    """Body of `/v1/chat/completions`."""

    messages: list[dict[str, Any]]
    max_completion_tokens: int | None = None
    logprobs: bool = False
    tools: list[Any] | None = None
    response_format: dict[str, Any] | None = None


class CompletionBody(OpenAiBody, frozen=True, kw_only=True):
    """Body of `/v1/completions`."""

    prompt: str | list[Any]
    echo: bool = False
    logprobs: int | None = None
    suffix: str | None = None


async def read_body(request: web.Request, kind: type[Body]) -> Body:
    """The request's JSON body. Raises `Refusal` with the place of the fault."""
    if request.content_type != "application/json":
        raise Refusal("Unsupported Media Type: Only 'application/json' is allowed", field="content-type")
    try:
        return msgspec.json.decode(await request.read(), type=kind)
    except msgspec.ValidationError as error:
        raise Refusal(f"1 validation error: {error}") from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise Refusal(f"1 validation error: the body is not JSON: {error}") from error


def native_settings(given: NativeSampling | None) -> SamplingSettings:
    """Settings of `/generate`."""
    given = given or NativeSampling()
    _refuse_unserved(given)
    if given.n not in (None, 1):
        raise Refusal("n > 1 is not offered by the reference server's /generate.", field="n")
    return _checked(
        max_new_tokens=given.max_new_tokens,
        temperature=given.temperature,
        top_p=given.top_p,
        top_k=given.top_k,
        min_p=given.min_p,
        seed=given.sampling_seed,
        stop=given.stop,
        stop_token_ids=given.stop_token_ids,
        ignore_eos=given.ignore_eos,
        min_new_tokens=given.min_new_tokens,
        keep_stop=given.no_stop_trim,
    )


def openai_settings(body: OpenAiBody, max_new_tokens: int) -> SamplingSettings:
    """Settings of a chat or completion."""
    _refuse_unserved(body)
    if body.n is not None and body.n < 1:
        raise Refusal(f"n must be at least 1, got {body.n}.", field="n")
    return _checked(
        max_new_tokens=max_new_tokens,
        temperature=body.temperature,
        top_p=body.top_p,
        top_k=body.top_k,
        min_p=body.min_p,
        seed=body.seed,
        stop=body.stop,
        stop_token_ids=body.stop_token_ids,
        ignore_eos=body.ignore_eos,
        min_new_tokens=body.min_tokens,
        keep_stop=body.no_stop_trim,
    )


def chat_messages(raw: Sequence[Mapping[str, Any]]) -> list[ChatMessage]:
    """Messages with their text parts joined. Raises `Refusal` for what is no text."""
    if not raw:
        raise Refusal("Messages cannot be empty.", field="messages")
    return [_message(place, message) for place, message in enumerate(raw)]


def _message(place: int, message: Mapping[str, Any]) -> ChatMessage:
    role, content = message.get("role"), message.get("content")
    if not isinstance(role, str):
        raise Refusal(f"messages[{place}].role must be a string.", field="messages")
    if isinstance(content, list):
        parts = [part.get("text") for part in content if isinstance(part, dict) and part.get("type") == "text"]
        if len(parts) < len(content) or not all(isinstance(part, str) for part in parts):
            raise Refusal(f"messages[{place}].content has a part that is no text.", field="messages")
        content = "\n".join(map(str, parts))
    if content is None and role == "assistant":
        content = ""
    if not isinstance(content, str):
        raise Refusal(f"messages[{place}].content must be a string or a list of text parts.", field="messages")
    return ChatMessage(role, content)


def _refuse_unserved(given: NativeSampling | OpenAiBody) -> None:
    for name, neutral in (("frequency_penalty", 0.0), ("presence_penalty", 0.0), ("repetition_penalty", 1.0)):
        if getattr(given, name) not in (None, neutral):
            raise Refusal(f"{name} is not offered by the reference server.", field=name)


def _checked(**given: Any) -> SamplingSettings:
    stop = given.pop("stop") or ()
    ids = given.pop("stop_token_ids") or ()
    known = {name: value for name, value in given.items() if value is not None}
    stops = (stop,) if isinstance(stop, str) else tuple(stop)
    settings = SamplingSettings(stop=stops, stop_token_ids=tuple(ids), **known)
    warm = math.isfinite(settings.temperature) and settings.temperature >= 0
    for name, holds, rule in (
        ("temperature", warm, "a non-negative finite number"),
        ("top_p", 0 < settings.top_p <= 1, "in (0, 1]"),
        ("min_p", 0 <= settings.min_p <= 1, "in [0, 1]"),
        ("top_k", settings.top_k == -1 or settings.top_k >= 1, "-1 (disable) or at least 1"),
        ("max_new_tokens", settings.max_new_tokens >= 1, "at least 1"),
        ("min_new_tokens", 0 <= settings.min_new_tokens <= settings.max_new_tokens, "in [0, max_new_tokens]"),
        ("seed", settings.seed is None or settings.seed >= 0, "at least 0"),
    ):
        if not holds:
            raise Refusal(f"{name} must be {rule}, got {getattr(settings, name)}.", field=name)
    if any(not text for text in settings.stop):
        raise Refusal("stop must not hold an empty string.", field="stop")
    return settings
