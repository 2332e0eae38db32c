"""Trainings of the reference trainer that were measured once: docs/forecast.md tells on what."""

POINTS = ((90, 1.135), (180, 1.243), (360, 1.373), (720, 1.511))
"""Samples and accept length of a greedy chain of 4, on the same held-out answers."""


def points_csv() -> str:
    """As `alula train forecast` reads them."""
    rows = [f"{samples},{length},recorded" for samples, length in POINTS]
    return "\n".join(["samples,accept_length,label", *rows]) + "\n"
