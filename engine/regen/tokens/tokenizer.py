"""The target's own tokenizer and chat template, from its folder.

A folder with `tokenizer.json` needs nothing but the `tokenizers` package, and little memory; other tokenizers (tiktoken
files with code of their own) are read through transformers.
"""

import functools
import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

import msgspec

from engine.regen.records import Message, Sampling
from engine.regen.tokens.template import ChatTemplate, read_template

_FILES = ("tokenizer.json", "tokenizer_config.json", "chat_template.jinja", "tiktoken.model", "tokenizer.model")


class TokenizerError(Exception):
    """The tokenizer cannot be used. `remedy` says what to do."""

    def __init__(self, message: str, remedy: str) -> None:
        super().__init__(message)
        self.remedy = remedy


class TargetTokenizer(Protocol):
    """What is needed of a tokenizer."""

    @property
    def size(self) -> int:
        """Number of tokens."""

    @property
    def end_ids(self) -> frozenset[int]:
        """Tokens that end an answer."""

    def render(self, messages: Sequence[Message], tools: Sequence[Any] | None, *, answer_follows: bool) -> str:
        """A conversation as the chat template writes it. Raises `TemplateRefused`."""

    def encode(self, text: str) -> list[int]:
        """Tokens of text in which special tokens stand written out; none are added."""

    def decode(self, tokens: Sequence[int]) -> str:
        """Text of tokens, special ones written out."""


class FastTokenizer:
    """From `tokenizer.json`."""

    def __init__(self, folder: Path) -> None:
        from tokenizers import Tokenizer

        self._tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self._template: ChatTemplate = read_template(folder)
        config = msgspec.json.decode((folder / "tokenizer_config.json").read_bytes(), type=dict[str, Any])
        named = config.get("eos_token")
        eos = self._tokenizer.token_to_id(named["content"] if isinstance(named, dict) else named or "")
        self.end_ids = frozenset({*end_ids_of(folder), *([eos] if eos is not None else [])})
        self.size: int = self._tokenizer.get_vocab_size()

    def render(self, messages: Sequence[Message], tools: Sequence[Any] | None, *, answer_follows: bool) -> str:
        """See `TargetTokenizer`."""
        return self._template.render(messages, tools, answer_follows=answer_follows)

    def encode(self, text: str) -> list[int]:
        """See `TargetTokenizer`."""
        return list(self._tokenizer.encode(text, add_special_tokens=False).ids)

    def decode(self, tokens: Sequence[int]) -> str:
        """See `TargetTokenizer`."""
        return str(self._tokenizer.decode(list(tokens), skip_special_tokens=False))


def load_tokenizer(folder: Path) -> TargetTokenizer:
    """The tokenizer of a folder.

    Raises:
        TokenizerError: It cannot be read.
    """
    if not (folder / "tokenizer_config.json").is_file():
        raise TokenizerError(
            f"{folder} holds no tokenizer_config.json", "give the target's folder, as downloaded from the hub"
        )
    try:
        if (folder / "tokenizer.json").is_file():
            return FastTokenizer(folder)
        from engine.regen.tokens.through_transformers import TransformersTokenizer

        return TransformersTokenizer(folder)
    except ImportError as error:
        raise TokenizerError(
            f"{folder} has no tokenizer.json, and transformers is missing", "pip install 'alula[train]'"
        ) from error
    except Exception as error:  # tokenizers raises bare Exception
        raise TokenizerError(f"the tokenizer in {folder} cannot be used: {error}", "get its files again") from error


def tokenizer_sha256(folder: Path) -> str:
    """One hash over all files that decide which tokens a conversation becomes."""
    digest = hashlib.sha256()
    for name in _FILES:
        if (folder / name).is_file():
            digest.update(name.encode() + b"\0" + hashlib.sha256((folder / name).read_bytes()).digest())
    return digest.hexdigest()


def end_ids_of(folder: Path) -> frozenset[int]:
    """Tokens at which the server ends an answer: `eos_token_id` of `generation_config.json`, or of `config.json`."""
    for name in ("generation_config.json", "config.json"):
        found = _object(folder / name).get("eos_token_id")
        if found is not None:
            return frozenset(found if isinstance(found, list) else [found])
    return frozenset()


@functools.cache
def model_sampling(folder: Path, sampling: Sampling) -> Sampling:
    """Sampling with the model's own defaults, which SGLang's chat surface takes and /generate does not (0.5.23)."""
    own = _object(folder / "generation_config.json")
    defaults = {
        name: float(value)
        for name in ("temperature", "top_p")
        if getattr(sampling, name) is None and isinstance(value := own.get(name), (int, float))
    }
    if sampling.top_k is None and isinstance(own.get("top_k"), int):
        return msgspec.structs.replace(sampling, **defaults, top_k=own["top_k"])
    return msgspec.structs.replace(sampling, **defaults)


def _object(path: Path) -> dict[str, Any]:
    try:
        return msgspec.json.decode(path.read_bytes(), type=dict[str, Any])
    except (OSError, msgspec.DecodeError, RecursionError):
        return {}
