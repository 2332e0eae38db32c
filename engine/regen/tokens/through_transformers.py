"""A tokenizer as transformers reads it: for folders without `tokenizer.json`, and to compare with."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from engine.regen.records import Message
from engine.regen.tokens.template import TemplateRefused, template_message
from engine.regen.tokens.tokenizer import end_ids_of


class TransformersTokenizer:
    """See `TargetTokenizer`. Code that comes with a model is run only from its own folder on this disk."""

    def __init__(self, folder: Path) -> None:
        from transformers import AutoTokenizer

        self._tokenizer = AutoTokenizer.from_pretrained(str(folder), trust_remote_code=True, local_files_only=True)
        eos = self._tokenizer.eos_token_id
        self.end_ids = frozenset({*end_ids_of(folder), *([eos] if eos is not None else [])})
        self.size: int = len(self._tokenizer)

    def render(self, messages: Sequence[Message], tools: Sequence[Any] | None, *, answer_follows: bool) -> str:
        """See `TargetTokenizer`."""
        plain = [template_message(message) for message in messages]
        try:
            return str(
                self._tokenizer.apply_chat_template(
                    plain, tools=tools, tokenize=False, add_generation_prompt=answer_follows
                )
            )
        except Exception as error:  # jinja2's errors, and those of a model's own code
            raise TemplateRefused(f"the chat template refuses the conversation: {error}") from error

    def encode(self, text: str) -> list[int]:
        """See `TargetTokenizer`."""
        return list(self._tokenizer.encode(text, add_special_tokens=False))

    def decode(self, tokens: Sequence[int]) -> str:
        """See `TargetTokenizer`."""
        return str(self._tokenizer.decode(list(tokens), skip_special_tokens=False, clean_up_tokenization_spaces=False))
