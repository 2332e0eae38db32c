"""Reads the files that an operator names for a training: a draft's config, the data, the manifest beside it."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from engine.train.specforge.plan import CannotPlan
from state.outside_file import open_regular, read_small_text

MAKE_ONE = "make one: alula train config --target ... --output ..."
SIZES = ("hidden_size", "num_attention_heads", "vocab_size", "intermediate_size")
"""Of a Llama-shaped draft, without which nothing can be estimated."""
MORE_SIZES = ("num_key_value_heads", "head_dim", "draft_vocab_size", "target_hidden_size")
MOST_SIZE = 1 << 30
MANIFEST_BYTES = 64 << 20
"""A manifest names every shard."""


def draft_of(target: str, file: Path | None, draft_vocab_size: int | None) -> dict[str, Any]:
    """The draft's config: from a file or folder, or made for the target. Raises `CannotPlan`."""
    from engine.check.flags.release import choose_release
    from engine.check.models import read_model
    from engine.train.draft_config import CannotDraft, draft_config

    if file is not None:
        return _read_draft(file / "config.json" if file.is_dir() else file)
    try:
        return draft_config(read_model(target, "target"), "llama", draft_vocab_size, choose_release(None).name)
    except CannotDraft as error:
        raise CannotPlan(str(error), error.remedy) from error


def manifest_beside(data: Path) -> dict[str, Any]:
    """What `alula regen export` or `alula data prepare` wrote beside the data; empty where nothing is."""
    for path in (data.with_name(f"{data.stem}.manifest.json"), data.with_name("manifest.json")):
        try:
            found = json.loads(read_small_text(path, MANIFEST_BYTES))
        except (OSError, ValueError, RecursionError):
            continue
        if isinstance(found, dict):
            return found
    return {}


def sample_count(data: Path) -> int:
    """Lines of a JSONL file that hold something; the first must be a conversation. Raises `CannotPlan`."""
    try:
        with open_regular(data) as stream:
            lines = (line for line in stream if line.strip())
            first = next(lines, None)
            count = 0 if first is None else 1 + sum(1 for _ in lines)
    except OSError as error:
        raise CannotPlan(f"{data} cannot be read: {error.strerror}", "give a JSONL file with --data") from error
    if first is None:
        raise CannotPlan(f"{data} holds no conversation", "see how far the regeneration is: alula regen status")
    if not _is_conversation(first):
        raise CannotPlan(
            f"{data} begins with a line that is no conversation",
            'give JSONL with {"conversations": [{"role": ..., "content": ...}]}, as alula regen export writes it',
        )
    return count


def token_count(manifest: Mapping[str, Any], samples: int, max_length: int) -> int:
    """Tokens of all conversations: by the manifest, and never more than the maximum length allows."""
    most = samples * max_length
    counted = [manifest.get(name) for name in ("prompt_tokens", "completion_tokens")]
    return min(most, sum(one for one in counted if isinstance(one, int))) if any(counted) else most


def _read_draft(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(read_small_text(path))
    except (OSError, ValueError, RecursionError) as error:
        raise CannotPlan(f"{path}: {error}", MAKE_ONE) from error
    if not isinstance(found, dict) or "hidden_size" not in found:
        raise CannotPlan(f"{path} is no draft config", MAKE_ONE)
    for name in (*SIZES, *MORE_SIZES):
        value = found.get(name)
        if (value is None and name in MORE_SIZES) or (type(value) is int and 0 < value <= MOST_SIZE):
            continue
        raise CannotPlan(f"{path}: {name} is {str(value)[:40] if name in found else 'missing'}", MAKE_ONE)
    return found


def _is_conversation(line: bytes) -> bool:
    try:
        found = msgspec.json.decode(line.removeprefix(b"\xef\xbb\xbf"))
    except (msgspec.DecodeError, RecursionError):
        return False
    return isinstance(found, dict) and isinstance(found.get("conversations"), list)
