"""Reads answers of `/generate`, `/v1/chat/completions` and `/v1/completions`, streamed or whole, as bytes arrive."""

from collections.abc import Callable
from typing import Any

import msgspec

from engine.bench.records import Failed

LONGEST_EVENT = 16 * 2**20
DONE = b"[DONE]"


class EventSplitter:
    """Splits a body into the data of its server-sent events, whatever the pieces that it arrives in."""

    def __init__(self) -> None:
        self._rest = b""
        self._data: list[bytes] = []

    def feed(self, data: bytes) -> list[bytes]:
        """The events that this piece completes.

        Raises:
            Failed: A line is longer than any answer can be.
        """
        found = []
        *lines, self._rest = (self._rest + data).split(b"\n")
        if len(self._rest) > LONGEST_EVENT:
            raise Failed("rubbish", f"an event of more than {LONGEST_EVENT >> 20} MiB")
        for line in lines:
            if line.startswith(b"data:"):
                self._data.append(line[5:].strip())
            elif self._data and line in (b"", b"\r"):
                found.append(self._data[0] if len(self._data) == 1 else b"\n".join(self._data))
                self._data = []
        return found


class _ProgressMeta(msgspec.Struct):
    completion_tokens: int | None = None


class _NativeProgress(msgspec.Struct):
    """What is read of each streamed piece: text and ids, which grow with each, are skipped unread."""

    meta_info: _ProgressMeta | None = None
    error: Any = None


class NativeMeta(msgspec.Struct):
    """`meta_info`, names of all releases (sglang 0.4.6 to 0.5.23, srt/managers/tokenizer_manager.py)."""

    completion_tokens: int | None = None
    prompt_tokens: int | None = None
    finish_reason: Any = None
    spec_verify_ct: int | None = None
    spec_correct_drafts_histogram: list[int] | None = None
    spec_accept_histogram: list[int] | None = None


class _NativeAnswer(msgspec.Struct):
    meta_info: NativeMeta | None = None
    text: str | None = None
    error: Any = None


class _NativePiece(msgspec.Struct):
    text: str | None = None


class _Usage(msgspec.Struct):
    completion_tokens: int | None = None
    prompt_tokens: int | None = None


class _Delta(msgspec.Struct):
    content: str | None = None
    reasoning_content: str | None = None


class _Choice(msgspec.Struct):
    delta: _Delta | None = None
    message: _Delta | None = None
    text: str | None = None
    finish_reason: str | None = None


class _OpenAi(msgspec.Struct):
    choices: list[_Choice] = []
    usage: _Usage | None = None
    error: Any = None


class Reading:
    """What was read of one answer so far."""

    __slots__ = ("arrivals", "counted_by_server", "finish_reason", "meta", "parts", "prompt_tokens", "tokens")

    def __init__(self) -> None:
        self.arrivals: list[tuple[float, int]] = []
        """When tokens arrived, and how many there were by then."""
        self.tokens = 0
        self.counted_by_server = True
        self.prompt_tokens: int | None = None
        self.finish_reason: str | None = None
        self.meta: NativeMeta | None = None
        self.parts: list[str] = []

    def count(self, at: float, tokens: int) -> None:
        """So many tokens have arrived by now."""
        if tokens > self.tokens:
            self.tokens = tokens
            self.arrivals.append((at, tokens))

    @property
    def text(self) -> str:
        """The answer."""
        return "".join(self.parts)


class AnswerReader:
    """The sink of one request. `interpret` reads one event, `whole` an answer that is not streamed."""

    def __init__(self, native: bool, stream: bool, most_tokens: int, *, incremental: bool = False) -> None:
        self.reading = Reading()
        self.code = 0
        self._body = bytearray()
        self._stream = stream
        self._most = most_tokens
        self._events = EventSplitter()
        self._last = b""
        self._incremental = incremental
        self._interpret: Callable[[float, bytes], None] = self._native if native else self._open_ai
        self._whole: Callable[[float, bytes], None] = self._native_end if native else self._open_ai
        self._native_kind = native
        self._at = 0.0

    def status(self, code: int) -> None:
        """Anything but 200 is an error, whose body is kept as its text."""
        self.code = code

    def feed(self, at: float, data: bytes) -> None:
        """Read what this piece completes."""
        self._at = at
        if self.code != 200 or not self._stream:
            self._body += data
            return
        for event in self._events.feed(data):
            if event != DONE:
                self._interpret(at, event)

    def end(self) -> Reading:
        """The whole answer has arrived.

        Raises:
            Failed: It is an error, or no answer.
        """
        if self.code != 200:
            said = bytes(self._body[:300]).decode(errors="replace").strip()
            raise Failed("http_error", f"status {self.code}: {said or 'no explanation'}")
        if not self._stream:
            self._decoded(self._whole, bytes(self._body))
        elif self._native_kind and self._last:
            self._decoded(self._native_end, self._last)
        if not self.reading.tokens:
            raise Failed("empty", "an answer without a token")
        return self.reading

    def _decoded(self, read: Callable[[float, bytes], None], body: bytes) -> None:
        read(self._at, body)

    def _native(self, at: float, event: bytes) -> None:
        piece = _decode(event, _NATIVE_PROGRESS)
        if piece.error is not None:
            raise Failed("server_error", _words(piece.error))
        if piece.meta_info is None or piece.meta_info.completion_tokens is None:
            raise Failed("rubbish", "an event without meta_info.completion_tokens")
        self.reading.count(at, piece.meta_info.completion_tokens)
        self._bound()
        if self._incremental:
            self.reading.parts.append(_decode(event, _NATIVE_PIECE).text or "")
        self._last = event

    def _native_end(self, at: float, body: bytes) -> None:
        answer = _decode(body, _NATIVE_ANSWER)
        if answer.error is not None:
            raise Failed("server_error", _words(answer.error))
        if answer.meta_info is None:
            raise Failed("rubbish", "an answer without meta_info")
        reading, meta = self.reading, answer.meta_info
        reading.count(at, meta.completion_tokens or 0)
        reading.meta, reading.prompt_tokens = meta, meta.prompt_tokens
        finish = meta.finish_reason
        reading.finish_reason = str(finish.get("type")) if isinstance(finish, dict) else finish and str(finish)
        if not self._incremental or not self._stream:
            reading.parts = [answer.text or ""]
        if self._stream and reading.finish_reason is None:
            raise Failed("cut", "the stream ended without a finish reason")

    def _open_ai(self, at: float, event: bytes) -> None:
        piece, reading = _decode(event, _OPEN_AI), self.reading
        if piece.error is not None:
            raise Failed("server_error", _words(piece.error))
        for choice in piece.choices:
            text = _text_of(choice)
            if text:
                reading.parts.append(text)
                if piece.usage is None or piece.usage.completion_tokens is None:
                    reading.counted_by_server = False
                    reading.count(at, reading.tokens + 1)
            reading.finish_reason = choice.finish_reason or reading.finish_reason
        if piece.usage is not None and piece.usage.completion_tokens is not None:
            self._usage(at, piece.usage, last=not piece.choices)
        self._bound()

    def _usage(self, at: float, usage: _Usage, *, last: bool) -> None:
        """Counts of the server take the place of ours, also where pieces held several tokens each."""
        reading, tokens = self.reading, usage.completion_tokens or 0
        reading.prompt_tokens = usage.prompt_tokens
        if not last or not reading.arrivals:
            reading.count(at, tokens)
        elif tokens != reading.tokens:
            scale, reading.tokens = tokens / reading.tokens, tokens
            reading.arrivals = [(when, round(count * scale)) for when, count in reading.arrivals]
        if last:
            reading.counted_by_server = True

    def _bound(self) -> None:
        if self.reading.tokens > 2 * self._most + 64:
            raise Failed("endless", f"{self.reading.tokens} tokens where {self._most} were asked for")


_NATIVE_PROGRESS = msgspec.json.Decoder(_NativeProgress)
_NATIVE_PIECE = msgspec.json.Decoder(_NativePiece)
_NATIVE_ANSWER = msgspec.json.Decoder(_NativeAnswer)
_OPEN_AI = msgspec.json.Decoder(_OpenAi)


def _decode(event: bytes, decoder: "msgspec.json.Decoder[Any]") -> Any:
    try:
        return decoder.decode(event)
    except (msgspec.DecodeError, RecursionError) as error:
        raise Failed("rubbish", f"not what this endpoint answers: {error}") from error


def _text_of(choice: _Choice) -> str:
    said = choice.delta or choice.message
    if said is not None:
        return (said.reasoning_content or "") + (said.content or "")
    return choice.text or ""


def _words(error: Any) -> str:
    return msgspec.json.encode(error)[:300].decode(errors="replace")
