"""The finished data: conversations as SpecForge reads them, and a manifest that says what they are."""

import hashlib
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec

from engine.regen.guard import read_known
from engine.regen.identity import Identity
from engine.regen.records import Message, Plan, Sample
from engine.regen.store import Store
from state.version import VERSION

CONVERSATIONS = "conversations.jsonl"
MANIFEST = "manifest.json"
REJECTED = "rejected.jsonl"


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """What an export holds and where it comes from."""

    file: str
    sha256: str
    answered: int
    cut_by_length: int
    """Answers that ended at the token limit. They are in the file; SpecForge trains on them as on any other."""
    failed: dict[str, int]
    rejected: int
    completion_tokens: int
    prompt_tokens: int
    sources: list[dict[str, Any]]
    server_url: str
    model: str
    sampling: dict[str, Any]
    answered_by: dict[str, Identity] = {}
    """Each server, with what it said of itself: model, version, flags that answers depend on."""
    flaws: dict[str, dict[str, int]] = {}
    """Source to its flawed answers by kind."""
    alula: str


def export_run(folder: Path, plan: Plan, output: Path | None = None) -> Manifest:
    """Write all answers as JSONL, with the manifest and the rejected records beside them.

    Args:
        folder: The run folder.
        plan: Its plan.
        output: The JSONL file; `conversations.jsonl` in the run folder where not given. It appears whole or not at all.

    Raises:
        ValueError: A stored answer is damaged, or the output is an input of the run.
        OSError: A file cannot be written.
    """
    target = output or folder / CONVERSATIONS
    if str(target.absolute()) in plan.inputs:
        raise ValueError(f"{target} is an input of the run, and would be overwritten")
    store = Store(folder, read_only=True)
    try:
        digest = write_whole(target, (msgspec.json.encode(_row(*found)) + b"\n" for found in store.answers()))
        write_whole(beside(folder, target, REJECTED), (msgspec.json.encode(one) + b"\n" for one in store.rejections()))
        manifest = _manifest(folder, target, digest, plan, store)
        write_whole(beside(folder, target, MANIFEST), [msgspec.json.format(msgspec.json.encode(manifest), indent=2)])
        return manifest
    finally:
        store.close()


def beside(folder: Path, target: Path, name: str) -> Path:
    """Where the manifest or the rejected records of an export lie: named after it, unless it is the run's own."""
    own = target.resolve() == (folder / CONVERSATIONS).resolve()
    return target.with_name(name if own else f"{target.stem}.{name}")


def _row(sample: Sample, assistants: tuple[Message, ...], finish_reasons: tuple[str, ...]) -> dict[str, Any]:
    """One line: SpecForge keeps `id`, `conversations` and `status` (a6b6b02, scripts/regenerate_train_data.py)."""
    conversation = [Message("system", sample.system)] if sample.system is not None else []
    for user, assistant in zip(sample.users, assistants, strict=True):
        conversation += [Message("user", user), assistant]
    return {"id": sample.id, "conversations": conversation, "status": "success", "finish_reasons": finish_reasons}


def _manifest(folder: Path, target: Path, digest: str, plan: Plan, store: Store) -> Manifest:
    tally, known = store.tally(), read_known(folder)
    return Manifest(
        file=str(target),
        sha256=digest,
        answered=tally.done,
        cut_by_length=tally.cut_by_length,
        failed=tally.failed,
        rejected=tally.rejected,
        completion_tokens=tally.completion_tokens,
        prompt_tokens=tally.prompt_tokens,
        sources=[{"path": path, "sha256": sha256, "records": records} for path, sha256, records in store.sources()],
        server_url=plan.server_url,
        model=plan.model,
        sampling=msgspec.to_builtins(plan.sampling),
        answered_by=known.servers if known else {},
        flaws=store.flaws(),
        alula=VERSION,
    )


def write_whole(path: Path, parts: Iterable[bytes]) -> str:
    """Write a file that appears only when it is complete and on disk; returns its SHA-256."""
    digest = hashlib.sha256()
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with os.fdopen(os.open(part, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600), "wb") as stream:
            for content in parts:
                digest.update(content)
                stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        part.replace(path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
    return digest.hexdigest()
