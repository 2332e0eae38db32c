"""API keys of servers, handed over by the name of an environment variable: a command line is there for all to read."""

import os

import click


def api_key(name: str | None) -> str | None:
    """The value of the variable that `--api-key-env` names; `None` where none is named."""
    if name is None:
        return None
    value = os.environ.get(name, "").strip()
    if not value:
        raise click.UsageError(f"--api-key-env {name}: that variable is not set. Set it first: export {name}=...")
    return value
