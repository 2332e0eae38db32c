"""Reads the sources of a plan in blocks, passes over those that are done, and watches that nothing changes."""

from collections.abc import Callable, Iterator
from itertools import islice

import msgspec

from engine.data.plan.records import Plan, PlanError, PlanSource
from engine.data.prepare.block import Block
from engine.data.prepare.parts import Part, Tally, parts_of
from engine.data.prepare.work import SourceState, Work, mark_of
from engine.data.records import BadRow, Guess, Mapping, SourceError
from engine.data.shapes.recognise import ROWS_LOOKED_AT, given, recognise
from engine.data.sources.decoding import decode
from engine.data.sources.rows import raw_rows

BLOCK_ROWS = 2000
LOOKED_AT_FIRST = 1000
"""Rows after which a source with too many bad ones is given up."""


class Stopped(Exception):
    """Somebody asked for a stop; all parts that are done are kept."""


class Reader:
    """The blocks that are still to be made into parts."""

    def __init__(self, work: Work, plan: Plan, stopping: Callable[[], bool]) -> None:
        self._work = work
        self._plan = plan
        self._stopping = stopping
        self._bad: dict[int, int] = {}
        self._rows: dict[int, int] = {}

    def blocks(self) -> Iterator[tuple[Block, Part]]:
        """Every block that has no part yet.

        Raises:
            PlanError: A source cannot be read, changed, or is too bad, and the plan says to stop.
            Stopped: A stop was asked for.
        """
        for number, source in enumerate(self._plan.source):
            try:
                yield from self._blocks_of(number, source)
            except SourceError as error:
                if self._plan.faults.unreachable == "stop":
                    raise PlanError(f"source {source.name}: {error}", error.remedy) from error
                self._give_up(number, source, str(error))

    def took(self, part: Part, tally: Tally) -> None:
        """Count a part's bad rows.

        Raises:
            PlanError: There are too many.
        """
        source = self._plan.source[part.source]
        bad = self._bad[part.source] = self._bad.get(part.source, 0) + tally.bad_rows
        rows = self._rows[part.source] = self._rows.get(part.source, 0) + tally.rows
        if bad and self._plan.faults.bad_rows == "stop":
            first = next(iter(next(iter(tally.samples.values()))))
            raise PlanError(
                f"source {source.name}, row {first.row}: {first.message}", "mend the row, or faults.bad_rows = 'skip'"
            )
        if rows >= LOOKED_AT_FIRST and bad > rows * self._plan.faults.most_bad_share:
            raise self._too_bad(source, bad, rows)

    def judge(self, number: int, source: PlanSource) -> None:
        """Hold all rows of a source against the share that may be bad, which a short one escaped before.

        Raises:
            PlanError: There are too many.
        """
        bad, rows = self._bad.get(number, 0), self._rows.get(number, 0)
        if bad > rows * self._plan.faults.most_bad_share:
            raise self._too_bad(source, bad, rows)

    def _too_bad(self, source: PlanSource, bad: int, rows: int) -> PlanError:
        return PlanError(
            f"source {source.name}: {bad:,} of {rows:,} rows are bad, more than faults.most_bad_share",
            f"see them: alula data show {source.source().label}",
        )

    def _blocks_of(self, number: int, source: PlanSource) -> Iterator[tuple[Block, Part]]:
        state = self._state(number, source)
        for part in parts_of(self._work.folder, number):
            self.took(part, part.tally())
        if state.skipped or self._is_done(number, state):
            return
        first = self._first_undone(number)
        rows = islice(raw_rows(state.source, first * BLOCK_ROWS), self._left(source, first))
        block_number = first
        while taken := list(islice(rows, BLOCK_ROWS)):
            if self._stopping():
                raise Stopped
            part = Part(self._work.folder, number, block_number)
            if not part.done:
                start = block_number * BLOCK_ROWS + 1
                yield Block(number, block_number, start, taken, state.mapping), part
            block_number += 1
        self._end(source, state)
        self._work.keep_source(number, msgspec.structs.replace(state, blocks=block_number))

    def _is_done(self, number: int, state: SourceState) -> bool:
        return state.blocks is not None and self._first_undone(number) >= state.blocks

    def _state(self, number: int, source: PlanSource) -> SourceState:
        state = self._work.source(number)
        if state is not None and state.blocks is None and state.skipped is None and state.mark != mark_of(state.source):
            if self._plan.faults.changed == "stop":
                raise self._changed(source)
            self._work.forget_source(number)
            state = None
        if state is None:
            state = self._look(source)
            self._work.keep_source(number, state)
        return state

    def _look(self, source: PlanSource) -> SourceState:
        pinned = source.source()
        if pinned.hub is not None:
            from engine.data.sources.hub import pinned as at_commit

            pinned = at_commit(pinned)
        mark = mark_of(pinned)
        rows = [decode(raw, source.encoding) for raw in islice(raw_rows(pinned), ROWS_LOOKED_AT)]
        good = [row for row in rows if not isinstance(row, BadRow)]
        guess = given(source.map, good) if source.map is not None else recognise(good)
        self._refuse_unsure(source, guess, empty=not good)
        return SourceState(source=pinned, mapping=guess.mapping, shape=guess.shape, why=guess.why, mark=mark)

    def _refuse_unsure(self, source: PlanSource, guess: Guess, *, empty: bool) -> None:
        label = source.source().label
        if empty:
            raise SourceError(f"{label} holds no readable row", "check the file and its encoding")
        if source.native != (guess.shape == "native") and guess.shape != "mapped":
            needs = "its rows have no input_ids and loss_mask" if source.native else "it is in tokens: native = true"
            raise PlanError(f"source {source.name}: {needs}", f"see it: alula data show {label}")
        if not guess.sure:
            raise PlanError(f"source {source.name}: {guess.why[0]}", "add map = { prompt = 'COLUMN' } to the source")

    def _first_undone(self, number: int) -> int:
        block = 0
        while Part(self._work.folder, number, block).done:
            block += 1
        return block

    def _left(self, source: PlanSource, first: int) -> int | None:
        return None if source.limit is None else max(0, source.limit - first * BLOCK_ROWS)

    def _end(self, source: PlanSource, state: SourceState) -> None:
        if state.mark != mark_of(state.source):
            if self._plan.faults.changed == "stop":
                raise self._changed(source)
            raise PlanError(f"source {source.name}: its file changed while it was read", "run it again to read it anew")

    def _changed(self, source: PlanSource) -> PlanError:
        return PlanError(
            f"source {source.name}: {source.path} has changed since the preparation began",
            "put it back, or faults.changed = 'restart' and --restart",
        )

    def _give_up(self, number: int, source: PlanSource, why: str) -> None:
        state = self._work.source(number)
        known = state or SourceState(
            source=source.source(), mapping=source.map or Mapping(), shape=None, why=(), mark=None,
        )  # fmt: skip
        self._work.keep_source(number, msgspec.structs.replace(known, skipped=why))
