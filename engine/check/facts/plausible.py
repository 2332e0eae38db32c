"""How large the numbers of a config can be. A file may say anything, and a check must not count to it."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

MOST_LAYERS = 4096
"""Thirty times the deepest published model (Llama 3.1 405B: 126 layers)."""
MOST_HEADS = 1 << 16
WIDEST = 1 << 24
LARGEST_VOCABULARY = 1 << 28
LARGEST: Mapping[str, int] = {
    "num_hidden_layers": MOST_LAYERS,
    "num_layers": MOST_LAYERS,
    "num_loops": MOST_LAYERS,
    "num_aux_hidden_states": MOST_LAYERS,
    "num_attention_heads": MOST_HEADS,
    "num_key_value_heads": MOST_HEADS,
    "head_dim": WIDEST,
    "hidden_size": WIDEST,
    "target_hidden_size": WIDEST,
    "intermediate_size": WIDEST,
    "vocab_size": LARGEST_VOCABULARY,
    "draft_vocab_size": LARGEST_VOCABULARY,
}


class Implausible(NamedTuple):
    """A number that no model has."""

    key: str
    value: int | float
    largest: int


def implausible(config: Mapping[str, Any]) -> Iterator[Implausible]:
    """Numbers below 0 or above what is plausible. Some models have lists; for texts see `texts`."""
    for key, largest in LARGEST.items():
        value = config.get(key)
        if isinstance(value, int | float) and not isinstance(value, bool) and not 0 <= value <= largest:
            yield Implausible(key, value, largest)


def texts(config: Mapping[str, Any]) -> Iterator[str]:
    """Keys that hold a text where a number must stand (`"4096"`): transformers 5 refuses to read such a config."""
    return (key for key in LARGEST if isinstance(config.get(key), str))
