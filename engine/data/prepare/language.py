"""Which language a prompt is written in, and how much of it is code."""

import re
from typing import Any

LOOKED_AT = 300
"""Characters: more change the answer seldom, and 1,000 cost 0.4 ms a record in place of 0.1 ms."""
FEWEST_LETTERS = 12
CODE = "code"
"""In place of a language, where nothing but code is left to tell one."""

_CODE_LINE = re.compile(
    r"\s{4,}\S|\t+\S|(?:def|class|import|from|return|public|private|static|void|func|fn|let|const|var|struct|package|using"
    r"|namespace|#include|template|if|for|while|else|elif|try|except|switch|case|end|local|function)\b.*[({:;=]"
    r"|(?:import|from|return|package|using|#include)\s\S+|.*[;{}]\s*$|.*\)\s*:\s*$|>>>|\$ |//|/\*|\*/|#!|@\w+"
    r"|[\w.]+\(.*\)$"
)
_COMMENTS = ("#", "//", "*", "/*", "--")
_LETTERS = re.compile(r"[^\W\d_]")


class LanguageReader:
    """Names languages by py3langid (97 of them)."""

    def __init__(self) -> None:
        from py3langid.langid import MODEL_FILE, LanguageIdentifier

        self._identifier: Any = LanguageIdentifier.from_model_file(MODEL_FILE)

    def read(self, text: str) -> tuple[str, float]:
        """The ISO 639-1 code, or `code`; and the share of lines that are code."""
        prose, share = split(text)
        if len(_LETTERS.findall(prose[:LOOKED_AT])) < FEWEST_LETTERS and share > 0:
            return CODE, share
        language, _ = self._identifier.classify(prose[:LOOKED_AT])
        return str(language), share


def split(text: str) -> tuple[str, float]:
    """What is written in a natural language, comments and docstrings included; and the share of lines that are code."""
    prose: list[str] = []
    code = lines = 0
    fenced = quoted = False
    for line in text.split("\n"):
        stripped = line.strip()
        if not stripped:
            continue
        lines += 1
        fence = stripped.startswith("```")
        quotes = stripped.count('"""') + stripped.count("'''")
        is_code = fence or fenced or quoted or quotes > 0 or _CODE_LINE.match(line) is not None
        code += is_code
        if not is_code or ((quoted or quotes or stripped.startswith(_COMMENTS)) and not stripped.startswith(">>>")):
            prose.append(stripped)
        fenced = fenced != fence
        quoted = quoted != (quotes % 2 == 1)
    return "\n".join(prose), code / lines if lines else 0.0
