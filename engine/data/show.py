"""A look at a source: its shape, its columns, samples before and after."""

from itertools import islice

import msgspec

from engine.data.records import BadRow, Guess, Mapping, Prompt, Row, Source, SourceError, Unusable
from engine.data.shapes.convert import preview, to_native, to_prompt
from engine.data.shapes.recognise import ROWS_LOOKED_AT, given, recognise
from engine.data.sources.rows import read_rows


class Sample(msgspec.Struct, frozen=True):
    """A record as it came and what becomes of it."""

    before: Row
    after: Prompt | str
    """The prompt, or why there is none."""


class Look(msgspec.Struct, frozen=True, kw_only=True):
    """The first rows of a source."""

    source: Source
    guess: Guess
    columns: dict[str, str]
    """Name to type, of all columns that were seen."""
    samples: tuple[Sample, ...]
    usable: int
    unusable: dict[str, int]
    """Reason to count, of the rows looked at."""
    first_bad: str | None


def look_at(source: Source, mapping: Mapping | None, samples: int, rows: int = ROWS_LOOKED_AT) -> Look:
    """Read the first rows.

    Raises:
        SourceError: The source cannot be read, or holds no row that can be.
    """
    found = list(islice(read_rows(source), rows))
    good = [row for row in found if not isinstance(row, BadRow)]
    bad = [row for row in found if isinstance(row, BadRow)]
    if not good:
        first = f": {bad[0].message}" if bad else ""
        raise SourceError(f"{source.label} holds no readable row{first}", "check the file and its encoding")
    guess = given(mapping, good) if mapping is not None else recognise(good)
    reasons: dict[str, int] = {}
    first_bad = f"{bad[0].reason}: {bad[0].message}" if bad else None
    for one in bad:
        reasons[one.reason] = reasons.get(one.reason, 0) + 1
    usable = 0
    for row in good:
        try:
            _convert(row, guess)
            usable += 1
        except Unusable as error:
            reasons[error.reason] = reasons.get(error.reason, 0) + 1
            first_bad = first_bad or f"{error.reason}: {error}"
    return Look(
        source=source,
        guess=guess,
        columns=_columns(good),
        samples=tuple(Sample(row, _after(row, guess)) for row in good[:samples]),
        usable=usable,
        unusable=reasons,
        first_bad=first_bad,
    )


def _convert(row: Row, guess: Guess) -> None:
    if guess.shape == "native":
        to_native(row, guess.mapping)
    else:
        to_prompt(row, guess.mapping)


def _after(row: Row, guess: Guess) -> Prompt | str:
    if guess.shape != "native":
        return preview(row, guess.mapping)
    try:
        native = to_native(row, guess.mapping)
    except Unusable as error:
        return str(error)
    return f"{len(native.input_ids)} tokens, {sum(native.loss_mask)} of them learnt"


def _columns(rows: list[Row]) -> dict[str, str]:
    found: dict[str, set[str]] = {}
    for row in rows:
        for name, value in row.items():
            found.setdefault(name, set()).add("null" if value is None else type(value).__name__)
    return {name: " or ".join(sorted(kinds)) for name, kinds in found.items()}
