"""Where a model lies: a folder, or a snapshot in the Hugging Face cache. Nothing is downloaded."""

import os
import re
from pathlib import Path
from typing import Literal

from engine.check.paths import at_home, is_file, is_folder
from engine.check.records import ModelProblem

_REPOSITORY = re.compile(r"[A-Za-z0-9][\w.-]*/[\w.-]+|[A-Za-z0-9][\w.-]*")


def locate(reference: str, revision: str | None, search_from: Path | None) -> Path | ModelProblem:
    """The folder of a model.

    Args:
        reference: A path, absolute or from `search_from`, or a repository id.
        revision: Branch, tag or commit of the repository; `main` where not given.
        search_from: Folder that relative paths start from; the working folder where not given.
    """
    path = at_home(reference)
    found = path if path.is_absolute() else (search_from or Path.cwd()) / path
    if is_folder(found):
        return found
    if is_file(found):
        pickled = found.suffix in (".gguf", ".bin", ".pt", ".pth")
        kind: Literal["not_safetensors", "not_found"] = "not_safetensors" if pickled else "not_found"
        return ModelProblem(kind=kind, path=str(found), message="a file where a model folder is expected")
    if path.is_absolute() or reference.startswith((".", "~")) or not _REPOSITORY.fullmatch(reference):
        return ModelProblem(kind="not_found", path=str(found), message="no such folder, or it may not be read")
    snapshot = _snapshot(reference, revision or "main")
    if snapshot is not None:
        return snapshot
    return ModelProblem(
        kind="not_cached", path=reference, message="neither a folder nor in the Hugging Face cache of this machine"
    )


def cache_folder() -> Path:
    """The hub's cache, as `huggingface_hub` finds it (constants.py): HF_HUB_CACHE, HF_HOME/hub, the XDG cache."""
    environment = os.environ
    for name in ("HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE"):
        if value := environment.get(name):
            return at_home(value)
    home = environment.get("HF_HOME") or Path(environment.get("XDG_CACHE_HOME", "~/.cache")) / "huggingface"
    return at_home(str(home)) / "hub"


def _snapshot(repository: str, revision: str) -> Path | None:
    root = cache_folder() / f"models--{repository.replace('/', '--')}"
    commit = revision
    reference = root / "refs" / revision
    try:
        if is_file(reference) and reference.resolve().is_relative_to(root.resolve()):
            commit = reference.read_text(errors="replace")[:100].strip()
    except OSError:
        return None
    if not re.fullmatch(r"[\w.-]+", commit):
        return None
    folder = root / "snapshots" / commit
    return folder if is_folder(folder) else None
