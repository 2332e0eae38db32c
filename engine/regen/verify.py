"""Proves that an export is complete and true: each sample of the run exactly once, each byte as it was stored."""

import hashlib
from pathlib import Path

import msgspec

from engine.regen.export import MANIFEST, Manifest, beside
from engine.regen.records import Message
from engine.regen.store import Store


class _Row(msgspec.Struct):
    id: str
    conversations: tuple[Message, ...]


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """What was compared, and every difference found."""

    samples: int
    answered: int
    failed: int
    pending: int
    rows: int
    problems: tuple[str, ...]


def verify_run(folder: Path, file: Path) -> Verdict:
    """Hold an exported file against the run's store.

    Raises:
        OSError: The file or the run cannot be read.
        ValueError: A stored answer is damaged.
    """
    store = Store(folder, read_only=True)
    try:
        tally = store.tally()
        problems: list[str] = []
        rows = _compare(store, file, problems)
        _compare_manifest(folder, file, problems)
        failed = sum(tally.failed.values())
        pending = tally.total - tally.done - failed
        if pending:
            problems.append(f"{pending} samples have no outcome yet")
        if rows != tally.done:
            problems.append(f"{rows} rows for {tally.done} answers")
        return Verdict(
            samples=tally.total,
            answered=tally.done,
            failed=failed,
            pending=pending,
            rows=rows,
            problems=tuple(problems),
        )
    finally:
        store.close()


def _compare(store: Store, file: Path, problems: list[str]) -> int:
    """Row by row in order: a lost, doubled, moved or changed row shows at once. At most 20 differences are named."""
    rows = 0
    with file.open("rb") as lines:
        for sample, assistants, _ in store.answers():
            line = lines.readline()
            if not line:
                break
            rows += 1
            try:
                row = msgspec.json.decode(line, type=_Row)
            except msgspec.DecodeError as error:
                _add(problems, f"line {rows}: {error}")
                continue
            if row.id != sample.id:
                _add(problems, f"line {rows}: id {row.id!r} where {sample.id!r} belongs")
            elif tuple(m for m in row.conversations if m.role == "assistant") != assistants:
                _add(problems, f"line {rows}: the answer to {row.id!r} is not the stored one")
            elif tuple(m.content for m in row.conversations if m.role == "user") != sample.users:
                _add(problems, f"line {rows}: the prompt of {row.id!r} is not the one that was asked")
        rows += sum(1 for _ in lines)
    return rows


def _compare_manifest(folder: Path, file: Path, problems: list[str]) -> None:
    try:
        manifest = msgspec.json.decode(beside(folder, file, MANIFEST).read_bytes(), type=Manifest)
    except (OSError, msgspec.DecodeError) as error:
        problems.append(f"no readable manifest: {error}")
        return
    with file.open("rb") as stream:
        if hashlib.file_digest(stream, "sha256").hexdigest() != manifest.sha256:
            problems.append("the file's SHA-256 is not the manifest's")


def _add(problems: list[str], problem: str) -> None:
    if len(problems) < 20:
        problems.append(problem)
