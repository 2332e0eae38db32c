"""What a greedy chain of draft steps would accept on answers that are known: the walk of a server, without one."""

import numpy
from numpy.typing import NDArray


def simulated_accept_length(accuracy: tuple[float, ...]) -> float:
    """1 + a0 + a0 a1 + ...: SpecForge's `simulated_acc_len` (a6b6b02, eval/evaluator.py) with the bonus token added.

    It takes the depths for independent. They are not: where one token is easy the next one is too, so a server
    accepts more.
    """
    together, total = 1.0, 1.0
    for share in accuracy:
        together *= share
        total += together
    return total


def walked(tokens: NDArray[numpy.int64], answers: NDArray[numpy.bool_], named: NDArray[numpy.int64]) -> tuple[int, int]:
    """Tokens committed and verifications needed for all answers of one conversation.

    Args:
        tokens: The conversation, `[length]`.
        answers: Which of them the target said, `[length]`.
        named: What the draft names, `[depth, length - 2]`; at depth k slot i answers for position i + 2 in a chain
            that began at slot i - k.

    A verification commits the drafted tokens up to the first wrong one, and one more of the target's own. The first
    token of an answer comes from the prompt pass.
    """
    hits = named == tokens[None, 2:]
    committed = verifications = 0
    for first, last in _spans(answers):
        position = max(first, 1)
        while position < last:
            accepted = _accepted(hits, position - 1, last - position)
            step = min(accepted + 1, last - position)
            committed, verifications, position = committed + step, verifications + 1, position + step
    return committed, verifications


def _accepted(hits: NDArray[numpy.bool_], slot: int, most: int) -> int:
    """Leading hits of the chain that begins at a slot."""
    for depth in range(min(len(hits), most)):
        if not hits[depth, slot + depth]:
            return depth
    return min(len(hits), most)


def _spans(answers: NDArray[numpy.bool_]) -> list[tuple[int, int]]:
    """First and last position of each run of answer tokens."""
    edges = numpy.flatnonzero(numpy.diff(numpy.concatenate([[False], answers, [False]]).astype(numpy.int8)))
    return [(int(begin), int(end) - 1) for begin, end in edges.reshape(-1, 2)]
