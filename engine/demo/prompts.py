"""Real prompts that are on every machine: function headers and docstrings of the standard library."""

import ast
import hashlib
import sysconfig
import textwrap
import warnings
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import msgspec

FUNCTIONS_PER_MODULE = 8
"""Bounds what one module gives, so that the prompts are spread over the library."""


class Prompt(msgspec.Struct, frozen=True):
    """A function's header and docstring, asked in the chat form that regeneration reads."""

    id: str
    messages: tuple[dict[str, str], ...]


def standard_library_prompts(count: int) -> list[Prompt]:
    """The same prompts on every run of one Python release; reads only as many modules as `count` needs."""
    found: dict[str, Prompt] = {}
    for path in sorted(_modules(), key=_order):
        for prompt in islice(_functions(path), FUNCTIONS_PER_MODULE):
            found.setdefault(prompt.id, prompt)
        if len(found) >= count:
            break
    return list(found.values())[:count]


def write_prompts(path: Path, count: int) -> int:
    """Write prompts as JSONL; returns how many there were."""
    prompts = standard_library_prompts(count)
    path.write_bytes(b"".join(msgspec.json.encode(prompt) + b"\n" for prompt in prompts))
    return len(prompts)


def _modules() -> list[Path]:
    library = Path(sysconfig.get_path("stdlib"))
    inner = [
        path for path in library.glob("[a-z]*/*.py") if path.parent.name not in ("test", "site-packages", "encodings")
    ]
    return [*library.glob("*.py"), *inner]


def _order(path: Path) -> bytes:
    return hashlib.sha256(f"{path.parent.name}/{path.name}".encode()).digest()


def _functions(path: Path) -> Iterator[Prompt]:
    source = path.read_text(encoding="utf-8", errors="replace")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return
    lines = source.split("\n")
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and ast.get_docstring(node) and len(node.body) > 1:
            header = textwrap.dedent("\n".join(lines[node.lineno - 1 : node.body[1].lineno - 1]))
            message = {"role": "user", "content": header.rstrip() + "\n"}
            yield Prompt(f"{path.parent.name}/{path.stem}:{node.lineno}", (message,))
