"""Proves that an export is complete and true: each sample of the run exactly once, each byte as it was stored."""

from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from engine.regen.joined import Joined
from engine.regen.manifest import MANIFEST, ExportedFile, Manifest, beside
from engine.regen.selection import ExportOptions, Side
from engine.regen.tokens.parquet import DamagedFile, read_rows
from engine.regen.tokens.rows import Row
from engine.regen.tokens.tokenizer import TokenizerError, load_tokenizer, tokenizer_sha256
from engine.regen.whole import Whole
from engine.regen.whole_file import sha256_of

MOST_NAMED = 20
Record = bytes | Row


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """What was compared, and every difference found."""

    samples: int
    answered: int
    failed: int
    pending: int
    rows: int
    """In all files of the export."""
    left_out: dict[str, int] = {}
    """Answers that were left out on purpose, by reason."""
    problems: tuple[str, ...]


def verify_run(folder: Path, file: Path) -> Verdict:
    """Hold an exported file, and its held-out part, against the run's store, or the stores of a fleet.

    What the export should hold is made again from the store, in order, and compared record by record: a lost, doubled,
    moved or changed one shows at once.

    Raises:
        OSError: The file or the run cannot be read. A missing held-out file is a problem of the verdict.
        ValueError: A stored answer is damaged.
    """
    problems: list[str] = []
    manifest = _manifest(folder, file, problems)
    store = Whole(folder)
    try:
        problems += store.problems()
        tally = store.tally()
        differences: list[str] = []
        rows, left_out = _compare(store, file, manifest, differences)
        failed = sum(tally.failed.values())
        since = tally.done + failed - (manifest.answered + sum(manifest.failed.values())) if manifest else 0
        # Rows of a run that went on are others in number and place; to name each would say nothing.
        problems += [f"{since} samples have ended since this export: export again"] if since else differences
        pending = tally.total - tally.done - failed
        if pending:
            problems.append(f"{pending} samples have no outcome yet")
        return Verdict(
            samples=tally.total,
            answered=tally.done,
            failed=failed,
            pending=pending,
            rows=rows,
            left_out=left_out,
            problems=tuple(problems[:MOST_NAMED]),
        )
    finally:
        store.close()


def _compare(store: Whole, file: Path, manifest: Manifest | None, problems: list[str]) -> tuple[int, dict[str, int]]:
    options = manifest.options if manifest else ExportOptions()
    joined = Joined(store, options)
    paths = _paths(file, manifest)
    expected: Iterator[tuple[Side, Record]] = joined.lines()
    if file.suffix == ".parquet":
        tokenizer = _tokenizer_problem(manifest)
        if tokenizer is not None:
            problems.append(tokenizer)
            return 0, {}
        expected = joined.rows(load_tokenizer(Path(options.tokenizer or "")))
    found = {side: _records(path) for side, path in paths.items() if side == "train" or path.exists()}
    rows = dict.fromkeys(found, 0)
    try:
        _hold_against(expected, found, paths, rows, problems)
    except DamagedFile as error:
        problems.append(str(error))
    return sum(rows.values()), dict(joined.left_out)


def _hold_against(
    expected: Iterator[tuple[Side, Record]], found: dict[Side, Iterator[Record]], paths: dict[Side, Path],
    rows: dict[Side, int], problems: list[str],
) -> None:  # fmt: skip
    """Read both to their ends, count the rows that were found, and name what differs."""
    for side, record in expected:
        if side in paths and side not in found:  # a missing file is told once, by the manifest's check
            continue
        if side not in found:
            problems.append(f"the {side} file of {_name(record)} is not in the manifest")
            break
        other = next(found[side], None)
        if other is None:
            problems.append(f"{paths[side].name} ends after {rows[side]} rows: {_name(record)} is missing")
            break
        rows[side] += 1
        if other != record:
            problems.append(f"{paths[side].name}, row {rows[side]}: {_difference(record, other)}")
    for side, rest in found.items():
        more = sum(1 for _ in rest)
        rows[side] += more
        if more and not any("ends after" in problem for problem in problems):
            problems.append(f"{paths[side].name} has {more} rows more than the run gives")


def _paths(file: Path, manifest: Manifest | None) -> dict[Side, Path]:
    """The files, where the one that was named lies now: an export that was moved is looked for beside it."""
    if manifest is None or not manifest.files:
        return {"train": file}
    return {
        side: file if side == "train" else file.parent / Path(one.file).name for side, one in manifest.files.items()
    }


def _records(path: Path) -> Iterator[Record]:
    if path.suffix == ".parquet":
        yield from read_rows(path)
        return
    with path.open("rb") as lines:
        yield from lines


def _difference(record: Record, other: Record) -> str:
    if _name(record) != _name(other):
        return f"{_name(other)} where {_name(record)} belongs"
    if isinstance(record, Row) and isinstance(other, Row):
        what = next(name for name in Row.__struct_fields__ if getattr(record, name) != getattr(other, name))
        return f"the {what} of {_name(record)} is not what the store gives"
    return f"{_name(record)} is not what the store gives"


def _name(record: Record) -> str:
    if isinstance(record, Row):
        return f"{record.id!r} ({record.part})"
    try:
        return repr(msgspec.json.decode(record, type=_Named).id)
    except (msgspec.DecodeError, RecursionError) as error:
        return f"a row that is not readable ({error})"


class _Named(msgspec.Struct):
    id: str


def _manifest(folder: Path, file: Path, problems: list[str]) -> Manifest | None:
    try:
        manifest = msgspec.json.decode(beside(folder, file, MANIFEST).read_bytes(), type=Manifest)
    except (OSError, ValueError, RecursionError) as error:
        problems.append(f"no readable manifest: {error}")
        return None
    exported: Iterable[tuple[Side, ExportedFile]] = manifest.files.items()
    paths = _paths(file, manifest)
    for side, one in exported:
        if not paths[side].exists():
            problems.append(f"{paths[side]} is missing: export again, or put it back beside {file.name}")
        elif sha256_of(paths[side]) != one.sha256:
            problems.append(f"the SHA-256 of {paths[side].name} is not the manifest's")
    if not manifest.files and sha256_of(file) != manifest.sha256:
        problems.append("the file's SHA-256 is not the manifest's")
    return manifest


def _tokenizer_problem(manifest: Manifest | None) -> str | None:
    if manifest is None or manifest.options.tokenizer is None:
        return "the manifest names no tokenizer, without which the rows cannot be made again"
    folder = Path(manifest.options.tokenizer)
    try:
        load_tokenizer(folder)
    except TokenizerError as error:
        return f"{error}; {error.remedy}"
    if tokenizer_sha256(folder) != manifest.tokenizer_sha256:
        return f"the tokenizer in {folder} has changed since the export"
    return None
