"""Text from outside (logs, model output, data sets, process names) made harmless before it reaches a terminal."""

import re

_ESCAPE_SEQUENCE = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|[\]PX^_].*?(?:\x07|\x1b\\|$)|[ -/]*[0-~])?|[\x80-\x9f]", re.DOTALL
)
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff]")


def plain_line(text: str, limit: int = 1000) -> str:
    """One line without control sequences: at most `limit` characters, line breaks and tabs as spaces."""
    return " ".join(plain_text(text[: limit * 8]).split("\n")).replace("\t", " ")[:limit]


def plain_text(text: str) -> str:
    """The same text without escape sequences, control and direction-changing characters; line breaks and tabs stay."""
    return _CONTROL.sub("", _ESCAPE_SEQUENCE.sub("", text.replace("\r\n", "\n").replace("\r", "\n")))
