"""Text to tokens and back, and the chat template."""

from collections.abc import Sequence
from pathlib import Path

import msgspec
from jinja2 import TemplateError
from jinja2.sandbox import ImmutableSandboxedEnvironment
from tokenizers import Tokenizer

from engine.reference.checkpoint import CheckpointError

REPLACEMENT = "�"
"""What an unfinished UTF-8 sequence decodes to."""


class ChatMessage(msgspec.Struct, frozen=True):
    """One message as the template sees it."""

    role: str
    content: str


class _Special(msgspec.Struct, frozen=True):
    content: str


class _TokenizerConfig(msgspec.Struct, frozen=True):
    chat_template: str
    eos_token: str | _Special | None = None
    bos_token: str | _Special | None = None


class Vocabulary:
    """The tokenizer of a model folder."""

    def __init__(self, folder: Path) -> None:
        """Read `tokenizer.json` and `tokenizer_config.json`. Raises `CheckpointError`."""
        try:
            self._tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
            config = msgspec.json.decode((folder / "tokenizer_config.json").read_bytes(), type=_TokenizerConfig)
            environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True)
            self._template = environment.from_string(config.chat_template)
            self._special = {"eos_token": _text(config.eos_token), "bos_token": _text(config.bos_token)}
        except Exception as error:  # tokenizers raises bare Exception
            message = f"{folder}: its tokenizer cannot be read: {error}"
            raise CheckpointError(message, "Give a folder with tokenizer.json and tokenizer_config.json.") from error

    @property
    def end_id(self) -> int | None:
        """The token that ends an answer, as `tokenizer_config.json` names it."""
        return self._tokenizer.token_to_id(self._special["eos_token"])

    def encode(self, text: str, special: bool = True) -> list[int]:
        """Token ids; special tokens in the text are recognised. `special` adds what every text begins with; the chat
        template writes that itself."""
        return self._tokenizer.encode(text, add_special_tokens=special).ids

    def decode(self, tokens: Sequence[int], special: bool = False) -> str:
        """Text of tokens; with `special`, the special tokens are written out."""
        return self._tokenizer.decode(list(tokens), skip_special_tokens=not special)

    def chat(self, messages: Sequence[ChatMessage]) -> list[int]:
        """Tokens of a conversation, ready for the assistant's answer. Raises `ValueError` where it does not fit."""
        return self.encode(self.render(messages, answer_follows=True), special=False)

    def render(self, messages: Sequence[ChatMessage], *, answer_follows: bool) -> str:
        """The conversation as the chat template writes it. Raises `ValueError` where it does not fit."""
        plain = [{"role": message.role, "content": message.content} for message in messages]
        try:
            return self._template.render(messages=plain, add_generation_prompt=answer_follows, **self._special)
        except TemplateError as error:
            raise ValueError(f"The chat template refuses these messages: {error}") from error


def _text(token: str | _Special | None) -> str:
    return token.content if isinstance(token, _Special) else token or ""


class TextStream:
    """The text of a growing answer, given out only as far as it can no longer change."""

    def __init__(self, vocabulary: Vocabulary, stops: Sequence[str]) -> None:
        self._vocabulary, self._stops = vocabulary, stops
        self._tokens: list[int] = []
        self._given = 0

    def fresh(self, tokens: Sequence[int]) -> str:
        """The settled text that `tokens` add."""
        self._tokens += tokens
        text = self._vocabulary.decode(self._tokens)
        settled = len(text.rstrip(REPLACEMENT)) if text.endswith(REPLACEMENT) else len(text)
        for stop in self._stops:
            whole = text.find(stop)
            begun = (count for count in range(min(len(stop), settled), 0, -1) if text[:settled].endswith(stop[:count]))
            settled = min(settled, whole) if whole >= 0 else settled - next(begun, 0)
        fresh = text[self._given : settled]
        self._given = max(self._given, settled)
        return fresh

    def rest(self, stop: str | None) -> str:
        """What is left at the end; `stop` is a string to cut at, with all that follows."""
        text = self._vocabulary.decode(self._tokens)
        if stop is not None and stop in text:
            text = text[: text.index(stop)]
        return text[self._given :]
