"""Which of the target's tokens the draft's head covers."""

from collections.abc import Iterable

import numpy
import torch
from numpy.typing import NDArray


def likely_tokens(answers: Iterable[NDArray[numpy.int64]], vocabulary: int, size: int) -> torch.Tensor:
    """The `size` most frequent target ids of the answers, in rising order.

    As SpecForge counts them (a6b6b02, training/vocab_mapping.py): over answer tokens alone, ids that never occur last.
    """
    counts = numpy.zeros(vocabulary, dtype=numpy.int64)
    for tokens in answers:
        counts += numpy.bincount(tokens, minlength=vocabulary)
    order = numpy.lexsort((numpy.arange(vocabulary), -counts))
    return torch.from_numpy(numpy.sort(order[:size]))


def map_tensors(covered: torch.Tensor, vocabulary: int) -> dict[str, torch.Tensor]:
    """`d2t`, the offset of each row's target id from its number, and `t2d`, which target ids are covered."""
    covered = covered.cpu()
    known = torch.zeros(vocabulary, dtype=torch.bool)
    known[covered] = True
    return {"d2t": covered - torch.arange(len(covered)), "t2d": known}
