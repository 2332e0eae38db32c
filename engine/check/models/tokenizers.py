"""Tells tokenizers apart by what decides how they cut text: vocabulary, merges, added tokens, pre-tokenizer."""

import hashlib
from pathlib import Path
from typing import Any

import msgspec

from engine.check.models.json_files import LARGEST_TOKENIZER, read_json_object


def fingerprint(folder: Path) -> str | None:
    """A hash that is equal for tokenizers that cut text alike; `None` where the folder ships none.

    Raises:
        Unreadable: The tokenizer's file is damaged.
    """
    path = folder / "tokenizer.json"
    if path.is_file():
        content = read_json_object(path, LARGEST_TOKENIZER)
        model = content.get("model")
        parts = {
            "vocab": _part(model, "vocab"),
            "merges": [merge if isinstance(merge, str) else " ".join(merge) for merge in _part(model, "merges") or ()],
            "added": sorted(
                (str(token.get("content")), token.get("id")) for token in content.get("added_tokens") or ()
            ),
            "pre": content.get("pre_tokenizer"),
            "normalizer": content.get("normalizer"),
        }
        return hashlib.sha256(msgspec.json.encode(parts, order="deterministic")).hexdigest()
    for name in ("tokenizer.model", "tiktoken.model", "vocab.json"):
        if (folder / name).is_file():
            with (folder / name).open("rb") as stream:
                return f"{name}:{hashlib.file_digest(stream, 'sha256').hexdigest()}"
    return None


def _part(model: object, name: str) -> Any:
    return model.get(name) if isinstance(model, dict) else None
