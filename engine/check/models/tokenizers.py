"""Tells tokenizers apart by what decides how they cut text: vocabulary, merges, added tokens, pre-tokenizer."""

from pathlib import Path
from typing import Any

import msgspec

from engine.check.models.json_files import LARGEST_TOKENIZER, read_json_object
from engine.check.paths import is_file

VOCABULARY_DIGITS = 32
"""The first so many digits of a fingerprint stand for vocabulary and added tokens, the rest for how text is cut."""


def fingerprint(folder: Path) -> str | None:
    """A hash that is equal for tokenizers that cut text alike; `None` where the folder ships none.

    Raises:
        Unreadable: The tokenizer's file is damaged.
    """
    path = folder / "tokenizer.json"
    if is_file(path):
        content = read_json_object(path, LARGEST_TOKENIZER)
        model = content.get("model")
        vocabulary = {"vocab": _part(model, "vocab"), "added": _added(content.get("added_tokens"))}
        parts = {
            "merges": _merges(_part(model, "merges")),
            "pre": content.get("pre_tokenizer"),
            "normalizer": content.get("normalizer"),
        }
        return _digest(vocabulary)[:VOCABULARY_DIGITS] + _digest(parts)[:VOCABULARY_DIGITS]
    for name in ("tokenizer.model", "tiktoken.model", "vocab.json"):
        if is_file(folder / name):
            with (folder / name).open("rb") as stream:
                import hashlib

                return f"{name}:{hashlib.file_digest(stream, 'sha256').hexdigest()}"
    return None


def _digest(parts: object) -> str:
    import hashlib

    return hashlib.sha256(msgspec.json.encode(parts, order="deterministic")).hexdigest()


def _added(tokens: object) -> list[tuple[str, str]]:
    listed = tokens if isinstance(tokens, list) else []
    return sorted((str(one.get("content")), str(one.get("id"))) for one in listed if isinstance(one, dict))


def _merges(merges: object) -> list[str]:
    listed = merges if isinstance(merges, list) else []
    return [" ".join(map(str, one)) if isinstance(one, list) else str(one) for one in listed]


def _part(model: object, name: str) -> Any:
    return model.get(name) if isinstance(model, dict) else None
