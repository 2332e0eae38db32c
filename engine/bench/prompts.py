"""Prompt sets: files of any usual shape, and random text of given lengths."""

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from engine.bench.records import BenchError, Prompt, PromptSet
from engine.regen.reading import read_samples
from engine.regen.records import Rejection

_TEXT = """
the of and to in is that for it as was with be by on not he his but at are this have from or had an they which one you
were all her she there would their we him been has when who will no more if out so up said what its about than into them
can only other time new some could these two may first then do any like my now over such our man even most made after
also did many off before must well back through years where much your way down should because long each just state
people those too little how good world make very year still see own work here get both under never used same another
"""
WORDS = tuple(_TEXT.split())
"""Frequent words of English, drawn from for random prompts."""


def read_prompts(wanted: PromptSet) -> tuple[Prompt, ...]:
    """The prompts of a set, always the same ones in the same order.

    Raises:
        BenchError: There is none that can be used.
    """
    found = _random(wanted) if wanted.kind == "random" else _from_file(wanted)
    if wanted.shuffle:
        found = random.Random(wanted.seed).sample(found, len(found))
    return tuple(found[: wanted.limit])


def _from_file(wanted: PromptSet) -> list[Prompt]:
    path = Path(wanted.path).expanduser()
    found: list[Prompt] = []
    rejected: Rejection | None = None
    seen: dict[str, int] = {}
    try:
        for _, sample in read_samples(path):
            if isinstance(sample, Rejection):
                rejected = rejected or sample
                continue
            seen[sample.id] = seen.get(sample.id, 0) + 1
            name = sample.id if seen[sample.id] == 1 else f"{sample.id} ({seen[sample.id]})"
            found.append(Prompt(name, sample.users, sample.system))
            if wanted.limit is not None and not wanted.shuffle and len(found) >= wanted.limit:
                break
    except OSError as error:
        raise BenchError(f"cannot read {path}: {error.strerror or error}", "give a file of prompts") from error
    if not found:
        why = f"line {rejected.line}: {rejected.reason}" if rejected else "it is empty"
        raise BenchError(f"{path} holds no prompt: {why}", rejected.remedy if rejected else "give a file of prompts")
    return found


def _random(wanted: PromptSet) -> list[Prompt]:
    fewest, most = wanted.input_words
    if not 1 <= fewest <= most or wanted.count < 1:
        raise BenchError(
            f"random prompts of {fewest} to {most} words", "give a range from 1 on, and one or more prompts"
        )
    drawn = random.Random(wanted.seed)
    lengths = [drawn.randint(fewest, most) for _ in range(wanted.count)]
    return [
        Prompt(f"random-{number}", (" ".join(drawn.choices(WORDS, k=length)),)) for number, length in enumerate(lengths)
    ]


class ChatTemplate:
    """Renders conversations as a model's own template does."""

    def __init__(self, source: str, tokens: dict[str, Any]) -> None:
        from jinja2.sandbox import ImmutableSandboxedEnvironment

        self._template = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True).from_string(source)
        self._tokens = tokens

    def render(self, messages: Sequence[dict[str, str]]) -> str:
        """Text up to where the assistant begins.

        Raises:
            BenchError: The template refuses these messages.
        """
        from jinja2 import TemplateError

        try:
            return self._template.render(messages=messages, add_generation_prompt=True, **self._tokens)
        except (TemplateError, TypeError) as error:
            raise BenchError(f"the chat template refuses a prompt: {error}", "take --api chat, or --raw") from error


def read_chat_template(folder: str | None) -> ChatTemplate | None:
    """The template of a model folder of this machine; `None` where there is none that can be read."""
    import msgspec

    if not folder or not Path(folder).is_dir():
        return None
    try:
        config = msgspec.json.decode((Path(folder) / "tokenizer_config.json").read_bytes())
        own = Path(folder) / "chat_template.jinja"
        source = own.read_text() if own.is_file() else config.get("chat_template")
        if isinstance(source, list):  # several named ones
            source = next((one["template"] for one in source if one.get("name") == "default"), None)
        tokens = {key: _token(config.get(key)) for key in ("bos_token", "eos_token")}
        return ChatTemplate(source, tokens) if isinstance(source, str) else None
    except (OSError, ValueError, AttributeError, KeyError, TypeError):
        return None


def _token(value: Any) -> str:
    return str(value.get("content", "")) if isinstance(value, dict) else str(value or "")
