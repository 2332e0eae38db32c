"""The token of a Ray cluster that wants one, where Ray's own commands keep it (ray 2.60, _private/authentication)."""

import os
from pathlib import Path


def token_header() -> dict[str, str]:
    """From `RAY_AUTH_TOKEN`, the file that `RAY_AUTH_TOKEN_PATH` names, or `~/.ray/auth_token`; empty without one."""
    token = os.environ.get("RAY_AUTH_TOKEN", "").strip() or _from_file()
    return {"Authorization": f"Bearer {token}"} if token and token.isprintable() else {}


def _from_file() -> str:
    path = Path(os.environ.get("RAY_AUTH_TOKEN_PATH") or "~/.ray/auth_token")
    try:
        return path.expanduser().read_text().strip()
    except (OSError, RuntimeError, UnicodeDecodeError):
        return ""
