"""Training text from a Python standard library: its source files, and chats made of its functions and docstrings."""

import ast
import random
import textwrap
from collections.abc import Iterator
from pathlib import Path

Turn = tuple[str, str]
"""What the user says and what the assistant answers."""

SKIPPED_FOLDERS = frozenset({"site-packages", "dist-packages", "encodings", "__pycache__", "data", "cjkencodings"})
LARGEST_FILE = 1_000_000
LONGEST_BODY = 1800
REQUESTS = (
    "{header}",
    "{header}",
    "{header}",
    "Complete this function:\n\n{header}",
    "Write the body of this Python function.\n\n{header}",
)
QUESTIONS = ("What does {name} do?", "Describe {name} in a few words.", "Explain what {name} does.")


def source_files(folders: list[Path]) -> list[str]:
    """Texts of all Python files below the folders that are valid UTF-8, each text once."""
    texts: dict[str, None] = {}
    for folder in folders:
        for path in sorted(folder.rglob("*.py")):
            inner = path.relative_to(folder).parts
            if SKIPPED_FOLDERS.isdisjoint(inner) and path.stat().st_size <= LARGEST_FILE:
                try:
                    texts[path.read_text(encoding="utf-8")] = None
                except UnicodeDecodeError:
                    continue
    return list(texts)


def chats(sources: list[str], seed: int) -> list[list[Turn]]:
    """One chat for each function: its header and docstring asked, its body answered; at times its docstring too."""
    choose = random.Random(seed)
    found: dict[str, list[Turn]] = {}
    for source in sources:
        for header, body, name, about in _functions(source):
            turns = [(choose.choice(REQUESTS).format(header=header), body)]
            if about and choose.random() < 0.3:
                turns.append((choose.choice(QUESTIONS).format(name=name), about))
                if choose.random() < 0.5:
                    turns.reverse()
            found.setdefault(header + body, turns)
    return list(found.values())


def _functions(source: str) -> Iterator[tuple[str, str, str, str]]:
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return
    lines = source.split("\n")
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            documentation = ast.get_docstring(node)
            first = node.body[1 if documentation is not None else 0 :]
            if not first:
                continue
            text = textwrap.dedent("\n".join(lines[node.lineno - 1 : node.end_lineno])).split("\n")
            split = first[0].lineno - node.lineno
            header, body = "\n".join(text[:split]) + "\n", "\n".join(text[split:]).rstrip()
            if header.strip() and 0 < len(body) <= LONGEST_BODY and len(header) <= LONGEST_BODY:
                about = " ".join((documentation or "").split("\n\n")[0].split())
                yield header, body, node.name, about
