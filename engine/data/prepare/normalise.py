"""Texts made regular: what is asked keeps its look, what is compared loses everything that is not meaning."""

import re
import unicodedata

from engine.data.records import Message, Prompt, Unusable

_UNWANTED = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ufeff]")
MOST_REPLACED = 0.02
"""Share of U+FFFD in a text from which on its encoding was lost before it came here."""


def normalised(prompt: Prompt) -> Prompt:
    """The same messages with line breaks of one kind, without control characters and outer white space.

    Raises:
        Unusable: Nothing is left of a user turn, or its encoding was lost.
    """
    messages = tuple(Message(one.role, _tidy(one.content)) for one in prompt.messages)
    for one in messages:
        if one.role == "user" and not one.content:
            raise Unusable("empty_prompt", "a user turn is empty")
        if one.content.count("\ufffd") > MOST_REPLACED * max(len(one.content), 1):
            raise Unusable("bad_encoding", "the text is full of replacement characters")
    return Prompt(messages, prompt.id, prompt.language, prompt.licence)


def asked(prompt: Prompt) -> str:
    """What the target is asked: all turns but the assistant's, which it will write anew."""
    return "\n".join(one.content for one in prompt.messages if one.role != "assistant")


def comparable(text: str) -> str:
    """A text without case, width forms and white space beyond one blank."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def _tidy(text: str) -> str:
    return _UNWANTED.sub("", text.replace("\r\n", "\n").replace("\r", "\n")).strip()
