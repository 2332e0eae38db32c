"""What an export says of itself, and where its companions lie."""

from pathlib import Path
from typing import Any

import msgspec

from engine.regen.identity import Identity
from engine.regen.records import Plan
from engine.regen.selection import ExportOptions, Side
from engine.regen.whole import Whole
from state.version import VERSION

CONVERSATIONS = "conversations.jsonl"
MANIFEST = "manifest.json"
REJECTED = "rejected.jsonl"


class ExportedFile(msgspec.Struct, frozen=True, kw_only=True):
    """One file of an export."""

    file: str
    sha256: str
    rows: int
    tokens: int = 0
    """Parquet only."""
    loss_tokens: int = 0
    """Of these, those that the target said."""


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """What an export holds and where it comes from."""

    file: str
    sha256: str
    files: dict[Side, ExportedFile] = {}
    options: ExportOptions = ExportOptions()
    answered: int
    cut_by_length: int
    """Answers that ended at the token limit. They are in the file; SpecForge trains on them as on any other."""
    failed: dict[str, int]
    rejected: int
    left_out: dict[str, int] = {}
    """Answers that the export does not hold, by reason."""
    native: int = 0
    """Samples joined that were the target's own already."""
    completion_tokens: int
    prompt_tokens: int
    sources: list[dict[str, Any]]
    server_url: str
    model: str
    sampling: dict[str, Any]
    sampling_by_source: dict[str, Any] = {}
    samples_a_prompt: int = 1
    shards: int = 1
    """Workers among which the samples were split by the hash of their ids."""
    tokenizer_sha256: str | None = None
    """Of the tokenizer's files that decide which tokens a conversation becomes, the chat template among them."""
    answered_by: dict[str, Identity] = {}
    """Each server, with what it said of itself: model, version, flags that answers depend on."""
    flaws: dict[str, dict[str, int]] = {}
    """Source to its flawed answers by kind."""
    alula: str


def make_manifest(
    plan: Plan,
    store: Whole,
    *,
    files: dict[Side, ExportedFile],
    options: ExportOptions,
    left_out: dict[str, int],
    native: int,
    tokenizer_sha256: str | None,
) -> Manifest:
    """The manifest of an export that has just been written."""
    tally, known = store.tally(), store.known()
    return Manifest(
        file=files["train"].file,
        sha256=files["train"].sha256,
        files=files,
        options=options,
        answered=tally.done,
        cut_by_length=tally.cut_by_length,
        failed=tally.failed,
        rejected=tally.rejected,
        left_out=left_out,
        native=native,
        completion_tokens=tally.completion_tokens,
        prompt_tokens=tally.prompt_tokens,
        sources=[{"path": path, "sha256": sha256, "records": records} for path, sha256, records in store.sources()],
        server_url=plan.server_url,
        model=plan.model,
        sampling=msgspec.to_builtins(plan.sampling),
        sampling_by_source=msgspec.to_builtins(plan.sampling_by_source),
        samples_a_prompt=plan.samples,
        shards=len(store.folders),
        tokenizer_sha256=tokenizer_sha256,
        answered_by=known.servers if known else {},
        flaws=store.flaws(),
        alula=VERSION,
    )


def beside(folder: Path, target: Path, name: str) -> Path:
    """Where the manifest or the rejected records of an export lie: named after it, unless it is the run's own."""
    own = target.resolve() == (folder / CONVERSATIONS).resolve()
    return target.with_name(name if own else f"{target.stem}.{name}")


def held_out_path(target: Path) -> Path:
    """Where the prompts kept apart from training lie."""
    return target.with_name(f"{target.stem}.held-out{target.suffix}")
