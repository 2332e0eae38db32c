"""Near-duplicate removal alone, for a comparison: read, words, minima, bands, compare, write what is kept.

python -m tests.benchmarks.data_copies FOLDER
"""

import sys
from pathlib import Path

import numpy as np

from engine.data.plan.records import Duplicates
from engine.data.prepare.copies import KEPT, near_copies
from engine.data.prepare.filtering import text_key
from engine.data.prepare.parts import FACTS, Part, Tally, read_lines
from engine.data.prepare.signatures import bands, rows_in_band, signatures
from engine.data.prepare.words import WordReader
from engine.data.records import Source
from engine.data.sources.rows import raw_rows

BLOCK_ROWS = 2000
TALLY = Tally(rows=0, steps={}, dropped={}, samples={}, bad_rows=0)


def main() -> None:
    """Work in the folder's `copies`."""
    import shutil
    from itertools import islice

    import msgspec

    folder = Path(sys.argv[1])
    work = folder / "copies"
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir()
    rows = raw_rows(Source(path=str(folder / "corpus.jsonl")))
    reader, settings = WordReader(), Duplicates()
    parts: list[Part] = []
    encoder = msgspec.json.Encoder()
    while taken := list(islice(rows, BLOCK_ROWS)):
        texts = [msgspec.json.decode(row)["prompt"] for row in taken if isinstance(row, bytes)]
        lines = [encoder.encode({"messages": [{"role": "user", "content": text}]}) + b"\n" for text in texts]
        made = signatures(*reader.read(texts).grams(settings.words))
        part = Part(work, 0, len(parts))
        part.write(
            b"".join(lines), _facts(lines, texts), bands(made, rows_in_band(settings.similarity)),
            made.astype(np.uint16), TALLY,
        )  # fmt: skip
        parts.append(part)
    facts = np.concatenate([part.facts() for part in parts])
    found = near_copies(parts, facts, np.ones(len(facts), bool), settings, lambda _: None)
    starts = np.concatenate(([0], np.cumsum([len(part.facts()) for part in parts])[:-1])).astype(np.int64)
    kept = np.flatnonzero(found == KEPT)
    with (work / "kept.jsonl").open("wb") as stream:
        for start in range(0, len(kept), BLOCK_ROWS):
            stream.writelines(read_lines(kept[start : start + BLOCK_ROWS], starts, facts, parts))


def _facts(lines: list[bytes], texts: list[str]) -> np.ndarray:
    facts = np.zeros(len(lines), FACTS)
    lengths = np.array([len(line) for line in lines], np.uint64)
    facts["offset"], facts["length"] = np.cumsum(lengths) - lengths, lengths
    facts["low"] = np.array([text_key(text)[0] for text in texts], np.uint64)
    return facts


if __name__ == "__main__":
    main()
