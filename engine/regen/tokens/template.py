"""A model's chat template, rendered as transformers 5 renders it (utils/chat_template_utils.py)."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, NoReturn

import msgspec
from jinja2 import TemplateError, nodes
from jinja2.ext import Extension
from jinja2.parser import Parser
from jinja2.sandbox import ImmutableSandboxedEnvironment

from engine.regen.records import Message

SPECIAL = ("bos_token", "eos_token", "pad_token", "unk_token")


class TemplateRefused(Exception):
    """A conversation that the template cannot write. It says why."""


class _Generation(Extension):
    """`{% generation %}` marks the assistant's words in some templates, and writes nothing."""

    tags = {"generation"}  # noqa: RUF012  # as jinja2 declares it

    def parse(self, parser: Parser) -> list[nodes.Node]:
        """The statements between the marks, as they are."""
        next(parser.stream)
        return parser.parse_statements(("name:endgeneration",), drop_needle=True)


class ChatTemplate:
    """Writes conversations as the model was trained to read them."""

    def __init__(self, source: str, tokens: Mapping[str, str]) -> None:
        environment = ImmutableSandboxedEnvironment(
            trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols", _Generation]
        )
        environment.filters["tojson"] = _to_json
        environment.globals["raise_exception"] = _refuse
        environment.globals["strftime_now"] = lambda form: datetime.now().strftime(form)  # as transformers does
        self.sha256 = hashlib.sha256(source.encode()).hexdigest()
        self._template = environment.from_string(source)
        self._tokens = dict(tokens)

    def render(self, messages: Sequence[Message], tools: Sequence[Any] | None, *, answer_follows: bool) -> str:
        """A conversation; with `answer_follows` up to where the assistant begins.

        Raises:
            TemplateRefused: It cannot be written.
        """
        plain = [template_message(message) for message in messages]
        try:
            return self._template.render(
                messages=plain, tools=tools, documents=None, add_generation_prompt=answer_follows, **self._tokens
            )
        except Exception as error:  # a template is a program from outside, which may raise anything
            raise TemplateRefused(f"the chat template refuses the conversation: {error}") from error


def template_message(message: Message) -> dict[str, Any]:
    """A message in the form that templates want: arguments of tool calls as objects, not as JSON text."""
    found: dict[str, Any] = msgspec.to_builtins(message)
    for call in found.get("tool_calls") or ():
        function = call.get("function") if isinstance(call, dict) else None
        if isinstance(function, dict) and isinstance(function.get("arguments"), str):
            try:
                function["arguments"] = json.loads(function["arguments"])
            except ValueError:
                continue  # some templates write the text as it stands
    return found


def read_template(folder: Path) -> ChatTemplate:
    """The template of a tokenizer's folder.

    Raises:
        ValueError: There is none.
        OSError: A file cannot be read.
    """
    config = msgspec.json.decode((folder / "tokenizer_config.json").read_bytes(), type=dict[str, Any])
    own = folder / "chat_template.jinja"
    source = own.read_text(encoding="utf-8") if own.is_file() else config.get("chat_template")
    if isinstance(source, list):  # several, by name
        source = next((one.get("template") for one in source if one.get("name") == "default"), None)
    if not isinstance(source, str):
        raise ValueError(f"{folder} holds no chat template (chat_template.jinja, or in tokenizer_config.json)")
    return ChatTemplate(source, {name: text for name in SPECIAL if (text := _text(config.get(name)))})


def _text(token: Any) -> str:
    return str(token.get("content", "")) if isinstance(token, dict) else str(token or "")


def _to_json(value: Any, ensure_ascii: bool = False, indent: int | None = None, **others: Any) -> str:
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, **others)


def _refuse(message: str) -> NoReturn:
    raise TemplateError(message)
