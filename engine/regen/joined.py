"""What an export holds, in order: the run's answers, then native samples; each with its side, or why it is left out.

Exporting writes this, and a proof makes it again and compares.
"""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from engine.regen.native import Native, read_native
from engine.regen.records import Message, Rejection, Stored
from engine.regen.selection import ExportOptions, Side, flaw_left_out, side_of, side_of_hash
from engine.regen.tokens.native_rows import native_rows
from engine.regen.tokens.rows import Row, Unfit, rows_of
from engine.regen.tokens.tokenizer import TargetTokenizer
from engine.regen.whole import Whole


class Joined:
    """One pass over an export's content. What it counts is complete once a pass has ended."""

    def __init__(self, store: Whole, options: ExportOptions) -> None:
        self.left_out: Counter[str] = Counter()
        self.rejections: list[Rejection] = []
        self.native = 0
        self._store = store
        self._options = options

    def lines(self) -> Iterator[tuple[Side, bytes]]:
        """Conversations as SpecForge reads them, one JSON object a line."""
        for found in self._samples():
            if isinstance(found, Stored):
                yield self._side(found), msgspec.json.encode(stored_line(found)) + b"\n"
            elif found.conversation:
                self.native += 1
                yield self._side(found), msgspec.json.encode(native_line(found)) + b"\n"
            else:
                remedy = "export to .parquet, which takes tokens and text"
                self._reject(Rejection(found.source, found.line, "no conversation in it", remedy))

    def rows(self, tokenizer: TargetTokenizer) -> Iterator[tuple[Side, Row]]:
        """Token rows."""
        longest = self._options.max_length
        for found in self._samples():
            try:
                rows = rows_of(found, tokenizer) if isinstance(found, Stored) else native_rows(found, tokenizer)
            except Unfit as error:
                self.left_out[error.reason] += 1
                if isinstance(found, Native):
                    self._reject(Rejection(found.source, found.line, str(error), "see docs/regen.md, Parquet"))
                continue
            self.native += isinstance(found, Native)
            side = self._side(found)
            for row in rows:
                if longest is not None and len(row.input_ids) > longest:
                    self.left_out["longer than max_length"] += 1
                else:
                    yield side, row

    def _samples(self) -> Iterator[Stored | Native]:
        for stored in self._store.answers():
            flaw = flaw_left_out(stored, self._options)
            if flaw is None:
                yield stored
            else:
                self.left_out[flaw] += 1
        for text in self._options.native:
            for native in read_native(Path(text)):
                if isinstance(native, Rejection):
                    self._reject(native)
                else:
                    yield native

    def _side(self, found: Stored | Native) -> Side:
        conversation = found.conversation() if isinstance(found, Stored) else found.conversation
        if conversation:
            return side_of(conversation, self._options.held_out)
        assert isinstance(found, Native)
        return side_of_hash(found.digest(), self._options.held_out)

    def _reject(self, rejection: Rejection) -> None:
        self.left_out["native samples rejected"] += 1
        if len(self.rejections) < 10_000:
            self.rejections.append(rejection)


def stored_line(stored: Stored) -> dict[str, Any]:
    """SpecForge keeps `id`, `conversations`, `tools` and `status` (a6b6b02, scripts/regenerate_train_data.py)."""
    return {
        "id": stored.sample.id,
        "conversations": stored.conversation(),
        **({"tools": stored.sample.tools} if stored.sample.tools else {}),
        "status": "success",
        "finish_reasons": stored.finish_reasons,
    }


def native_line(native: Native) -> dict[str, Any]:
    """The same for a native sample."""
    conversation: tuple[Message, ...] = native.conversation
    tools = {"tools": native.tools} if native.tools else {}
    return {"id": native.id, "conversations": conversation, **tools, "status": "success", "origin": "native"}
