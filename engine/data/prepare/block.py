"""From a block of rows to its part; runs in worker processes."""

from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from engine.data.plan.records import Plan, PlanSource
from engine.data.prepare.filtering import STEPS, Candidate, Filters, Outcome, line_of, text_key
from engine.data.prepare.parts import FACTS, Part, Tally
from engine.data.prepare.signatures import PERMUTATIONS, bands, rows_in_band, signatures
from engine.data.prepare.words import Words
from engine.data.records import BadRow, Mapping, Native, Raw, Unusable
from engine.data.shapes.convert import to_native
from engine.data.sources.decoding import decode


class Block(msgspec.Struct, frozen=True):
    """Rows of a source that become one part."""

    source: int
    number: int
    first_row: int
    """From 1."""
    rows: list[Raw]
    mapping: Mapping


class BlockWorker:
    """Makes parts. One for each process."""

    def __init__(self, plan: Plan, filters: Filters) -> None:
        self._plan = plan
        self._filters = filters
        self._band_rows = rows_in_band(plan.duplicates.similarity)

    def make(self, block: Block, part: Part) -> Tally:
        """Filter the rows and write the part."""
        source = self._plan.source[block.source]
        outcome = Outcome(source.name)
        if source.native:
            return self._make_native(source, block, part, outcome)
        found, words = self._filters.apply(source, block.mapping, block.rows, block.first_row, outcome)
        lines = [line_of(source, one) for one in found]
        facts = _facts(lines, [(text_key(one.text), one.tokens, one.language) for one in found])
        tally = _tally(block, outcome)
        part.write(b"".join(lines), facts, *self._near(words, found), tally)
        return tally

    def _near(self, words: Words, found: list[Candidate]) -> tuple[Any, NDArray[np.uint16]]:
        count = PERMUTATIONS // self._band_rows
        if not self._plan.duplicates.near or not found:
            return np.zeros((count, 0), np.uint64), np.zeros((0, PERMUTATIONS), np.uint16)
        made = signatures(*words.grams(self._plan.duplicates.words))
        return bands(made, self._band_rows), made.astype(np.uint16)

    def _make_native(self, source: PlanSource, block: Block, part: Part, outcome: Outcome) -> Tally:
        lines: list[bytes] = []
        keys: list[tuple[tuple[int, int], int | None, str]] = []
        for row, raw in enumerate(block.rows, block.first_row):
            record = decode(raw, source.encoding)
            if isinstance(record, BadRow):
                outcome.drop("read", record.reason, row, record.message, "")
                continue
            try:
                native = to_native(record, block.mapping)
                text = self._checked(native)
            except Unusable as error:
                outcome.drop("with a prompt", error.reason, row, str(error), str(native_shown(record)))
                continue
            lines.append(msgspec.json.encode(record) + b"\n")
            keys.append((text_key(" ".join(map(str, native.input_ids)) or text), len(native.input_ids), "native"))
        outcome.steps = dict.fromkeys(STEPS, len(lines))
        outcome.steps["read"] = len(block.rows) - sum(outcome.dropped.get("read", {}).values())
        tally = _tally(block, outcome)
        empty = np.zeros((PERMUTATIONS // self._band_rows, 0), np.uint64), np.zeros((0, PERMUTATIONS), np.uint16)
        part.write(b"".join(lines), _facts(lines, keys), *empty, tally)
        return tally

    def _checked(self, native: Native) -> str:
        counter, limit = self._filters.counter, self._filters.counter.vocabulary_size
        assert limit is not None
        if not 0 <= min(native.input_ids) <= max(native.input_ids) < limit:
            raise Unusable("outside_vocabulary", f"a token is not among the target's {limit:,}")
        text = counter.text(native.input_ids) or ""
        copy = self._filters.copy_in(text)
        if copy is not None:
            raise Unusable("benchmark_overlap", f"holds {copy}")
        return text


def native_shown(record: dict[str, Any]) -> str:
    """The start of a record in tokens."""
    return str(record.get("input_ids"))[:200]


def _facts(lines: list[bytes], keys: list[tuple[tuple[int, int], int | None, str]]) -> NDArray[Any]:
    facts = np.zeros(len(lines), FACTS)
    lengths = np.array([len(line) for line in lines], np.uint64)
    facts["offset"] = np.cumsum(lengths) - lengths
    facts["length"] = lengths
    facts["low"] = np.array([low for (low, _), _, _ in keys], np.uint64)
    facts["high"] = np.array([high for (_, high), _, _ in keys], np.uint64)
    facts["tokens"] = np.array([tokens or 0 for _, tokens, _ in keys], np.uint32)
    facts["language"] = np.array([language.encode()[:8] for _, _, language in keys], "S8")
    return facts


def _tally(block: Block, outcome: Outcome) -> Tally:
    bad = sum(sum(outcome.dropped.get(step, {}).values()) for step in ("read", "with a prompt"))
    return Tally(
        rows=len(block.rows),
        steps={step: outcome.steps.get(step, 0) for step in STEPS},
        dropped={step: dict(counts) for step, counts in outcome.dropped.items()},
        samples=outcome.samples,
        bad_rows=bad,
    )
