"""Lengths in the target's tokens."""

import os
from collections.abc import Sequence
from pathlib import Path

import msgspec

from engine.data.plan.records import PlanError, Target


class TokenCounter:
    """Counts with the target's own tokenizer, or estimates from characters where the plan says so."""

    def __init__(self, target: Target) -> None:
        """Load the tokenizer.

        Raises:
            PlanError: It cannot be loaded.
        """
        os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
        self._ratio = target.characters_per_token
        self._tokenizer = None
        self.vocabulary_size: int | None = None
        if target.tokenizer is None:
            return
        from tokenizers import Tokenizer

        path = tokenizer_file(target.tokenizer)
        try:
            self._tokenizer = Tokenizer.from_file(str(path))
        except Exception as error:
            raise PlanError(f"target.tokenizer: {path}: {error}", "give the target's tokenizer.json") from error
        self._tokenizer.no_truncation()
        self.vocabulary_size = max(self._tokenizer.get_vocab_size(), _vocabulary_of_config(path.parent))

    @property
    def measures(self) -> bool:
        """Whether lengths are known at all."""
        return self._tokenizer is not None or self._ratio is not None

    def count(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text, without a chat template. Only where `measures` holds."""
        if self._tokenizer is not None:
            return [len(one) for one in self._tokenizer.encode_batch_fast(list(texts), add_special_tokens=False)]
        assert self._ratio is not None
        return [round(len(text) / self._ratio) for text in texts]

    def text(self, tokens: Sequence[int]) -> str | None:
        """The text of tokens; `None` without a tokenizer."""
        return None if self._tokenizer is None else str(self._tokenizer.decode(list(tokens), skip_special_tokens=True))


def tokenizer_file(name: str) -> Path:
    """The `tokenizer.json` that a path or hub id stands for; from the hub it is downloaded once.

    Raises:
        PlanError: There is none.
    """
    path = Path(name)
    if path.is_dir():
        path = path / "tokenizer.json"
    if path.is_file():
        return path
    if name.count("/") == 1 and not name.startswith(("/", ".")):
        return _downloaded(name)
    raise PlanError(
        f"target.tokenizer: there is no {path}",
        "give tokenizer.json, a folder with it, or OWNER/NAME; a target without one: characters_per_token = 3.5",
    )


def _downloaded(name: str) -> Path:
    from huggingface_hub import hf_hub_download

    try:
        return Path(hf_hub_download(name, "tokenizer.json"))
    except Exception as error:
        text = (str(error).splitlines() or [type(error).__name__])[0]
        raise PlanError(
            f"target.tokenizer: {name}: {text}", "check name, network and HF_TOKEN, or give characters_per_token"
        ) from error


def _vocabulary_of_config(folder: Path) -> int:
    """Rows of the embedding, which may be more than the tokenizer knows; 0 where no configuration tells."""
    try:
        config = msgspec.json.decode((folder / "config.json").read_bytes())
        size = config.get("vocab_size") or config.get("text_config", {}).get("vocab_size")
        return int(size or 0)
    except (OSError, msgspec.DecodeError, AttributeError, TypeError, ValueError, RecursionError):
        return 0
