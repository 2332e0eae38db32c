"""What several commands print."""

from typing import Any, TypedDict

Forms = dict[str, dict[str, Any]]
"""Command to its forms: the usual one by the empty text, others by the option or argument that asks for them."""


class Problem(TypedDict):
    """On standard error, with exit code 2, where a command could not do it."""

    error: str
    remedy: str


class Launched(TypedDict):
    """A job was queued."""

    job_id: int
    run_folder: str


class Nothing(TypedDict):
    """Done; there is nothing to tell."""
