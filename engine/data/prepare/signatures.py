"""MinHash signatures, and bands of them under which near-duplicates meet.

Signatures come from rensa (R-MinHash); the banding is that of Leskovec, Rajaraman, Ullman, *Mining of Massive
Datasets*, chapter 3.
"""

import numpy as np
from numpy.typing import NDArray

from engine.data.prepare.words import Hashes

PERMUTATIONS = 126
WANTED_RECALL = 0.99
_SEED = 42
_STEP = np.uint64(0x9E3779B97F4A7C15)


def rows_in_band(similarity: float) -> int:
    """Rows of a band, the most with which a pair of this similarity still meets in some band 99 times of 100."""
    fitting = [rows for rows in range(1, 15) if PERMUTATIONS % rows == 0 and _recall(similarity, rows) >= WANTED_RECALL]
    return max(fitting, default=1)


def signatures(grams: Hashes, ends: NDArray[np.int64]) -> NDArray[np.uint32]:
    """A row of minima for each text."""
    from rensa import RMinHash

    offsets = np.concatenate(([0], ends)).astype(np.uint64)
    matrix = RMinHash.digest_matrix_from_flat_token_hashes(grams, offsets, PERMUTATIONS, _SEED)
    return np.array(matrix.to_rows(), np.uint32).reshape(len(ends), PERMUTATIONS)


def bands(found: NDArray[np.uint32], rows: int) -> Hashes:
    """A row for each band, a column for each text: two texts with an equal value there may be near-duplicates."""
    count = PERMUTATIONS // rows
    parts = found.reshape(len(found), count, rows).astype(np.uint64)
    hashed = np.full((len(found), count), np.uint64(rows), np.uint64)
    for row in range(rows):
        hashed = hashed * _STEP + parts[:, :, row]
        hashed ^= hashed >> np.uint64(32)
    return np.ascontiguousarray(hashed.T)


def _recall(similarity: float, rows: int) -> float:
    return float(1 - (1 - similarity**rows) ** (PERMUTATIONS // rows))
