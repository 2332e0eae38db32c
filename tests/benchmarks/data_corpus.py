"""Records from a seed: prompts of real words in natural frequencies, lengths as instructions have, near-copies among
them."""

import pydoc_data.topics
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

COPIES = 0.2
MEDIAN_WORDS, SPREAD, MOST_WORDS = 90, 0.8, 2_000
EDITED = (0.0, 0.04)
"""Share of a near-copy's words that are changed."""
_ORIGINALS_AT_ONCE = 10_000


class Record(msgspec.Struct):
    """A prompt, and the one that it is a near-copy of."""

    id: str
    prompt: str
    copy_of: str | None = None


def vocabulary() -> list[str]:
    """Words of Python's own documentation, as often as they stand there."""
    return re.findall(r"[A-Za-z']+[.,:;]?", " ".join(pydoc_data.topics.topics.values()))


def make(count: int, seed: int) -> Iterator[Record]:
    """Records; each near-copy comes after its original, at any distance up to some ten thousand."""
    random = np.random.Generator(np.random.PCG64(seed))
    words = np.array(vocabulary(), dtype=object)
    recent: list[tuple[str, list[str]]] = []
    for number in range(count):
        if recent and random.random() < COPIES:
            origin, text = recent[int(random.integers(len(recent)))]
            yield Record(str(number), " ".join(_edited(text, words, random)), origin)
            continue
        size = int(min(MOST_WORDS, max(8, random.lognormal(np.log(MEDIAN_WORDS), SPREAD))))
        text = words[random.integers(0, len(words), size)].tolist()
        place = int(random.integers(_ORIGINALS_AT_ONCE))
        if len(recent) < _ORIGINALS_AT_ONCE:
            recent.append((str(number), text))
        else:
            recent[place] = (str(number), text)
        yield Record(str(number), " ".join(text))


def write(path: Path, count: int, seed: int) -> None:
    """The records as JSONL."""
    encoder = msgspec.json.Encoder()
    with path.open("wb") as stream:
        stream.writelines(encoder.encode(record) + b"\n" for record in make(count, seed))


def _edited(text: list[str], words: Any, random: np.random.Generator) -> list[str]:
    made = list(text)
    edits = round(len(text) * random.uniform(*EDITED))
    for place in random.integers(0, len(made), edits).tolist():
        made[place] = words[int(random.integers(len(words)))]
    return ["Please", "note:", *made] if random.random() < 0.3 else made
