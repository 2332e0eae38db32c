"""What becomes of one block of rows: the records that pass every filter, and why the others do not."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import msgspec
import xxhash

from engine.data.catalogue.benchmarks import is_problem_id
from engine.data.plan.records import Plan, PlanSource
from engine.data.prepare.contamination import BenchmarkIndex
from engine.data.prepare.language import CODE, LanguageReader
from engine.data.prepare.normalise import asked, comparable, normalised
from engine.data.prepare.parts import Sample
from engine.data.prepare.tokens import TokenCounter
from engine.data.prepare.words import WordReader, Words
from engine.data.records import BadRow, Mapping, Prompt, Raw, Reason, Unusable
from engine.data.shapes.columns import ID
from engine.data.shapes.convert import to_prompt
from engine.data.sources.decoding import decode

SAMPLES_KEPT = 3
SAMPLE_CHARACTERS = 400
CODE_FROM = 0.5
STEPS = ("read", "with a prompt", "licence", "benchmarks", "length", "language")
"""In order; each leaves fewer records than the one before."""


class Candidate(msgspec.Struct):
    """A record on its way through the filters."""

    row: int
    prompt: Prompt
    text: str
    number: int = 0
    """Among the block's words."""
    problem: str | None = None
    """The id of a benchmark's problem that it bears."""
    tokens: int | None = None
    language: str = ""
    code: float = 0.0


class Outcome:
    """Counts and samples of one block."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.steps: dict[str, int] = {}
        self.dropped: dict[str, Counter[str]] = {}
        self.samples: dict[str, list[Sample]] = {}

    def drop(self, step: str, reason: Reason, row: int, message: str, text: str) -> None:
        """Count a record that is left out, and keep the first of each reason."""
        self.dropped.setdefault(step, Counter())[reason] += 1
        kept = self.samples.setdefault(reason, [])
        if len(kept) < SAMPLES_KEPT:
            kept.append(Sample(self.source, row, message, text[:SAMPLE_CHARACTERS]))


class Filters:
    """The filters of a plan. One for each process: it remembers words and holds the models."""

    def __init__(self, plan: Plan, index: BenchmarkIndex | None) -> None:
        self._plan = plan
        self._index = index
        self._words = WordReader()
        self._languages = LanguageReader()
        self.counter = TokenCounter(plan.target)
        self._licences = {one.lower() for one in plan.filters.licences}

    def apply(
        self, source: PlanSource, mapping: Mapping, rows: Sequence[Raw], first_row: int, outcome: Outcome
    ) -> tuple[list[Candidate], Words]:
        """The records that pass, with their words."""
        found = list(self._with_prompt(source, mapping, rows, first_row, outcome))
        outcome.steps["with a prompt"] = len(found)
        found = self._keep(found, "licence", self._licence_of(source), outcome)
        words = self._words.read([one.text for one in found])
        for number, one in enumerate(found):
            one.number = number
        found = self._without_benchmarks(found, words, outcome)
        found = self._of_length(found, outcome)
        for one in found:
            one.language, one.code = self._languages.read(one.text)
        found = self._keep(found, "language", self._wrong_language, outcome)
        return found, words.chosen([one.number for one in found])

    def copy_in(self, text: str) -> str | None:
        """The benchmark prompt that a text holds."""
        return self._copies(self._words.read([text])).get(0)

    def _copies(self, words: Words) -> dict[int, str]:
        if self._index is None:
            return {}
        return {number: copy.prompt for number, copy in self._index.copies(words).items()}

    def _with_prompt(
        self, source: PlanSource, mapping: Mapping, rows: Sequence[Raw], first_row: int, outcome: Outcome
    ) -> Iterable[Candidate]:
        read = 0
        for row, raw in enumerate(rows, first_row):
            record = decode(raw, source.encoding)
            if isinstance(record, BadRow):
                outcome.drop("read", record.reason, row, record.message, _shown(raw))
                continue
            read += 1
            try:
                prompt = normalised(to_prompt(record, mapping))
            except Unusable as error:
                outcome.drop("with a prompt", error.reason, row, str(error), _shown(record))
                continue
            problem = next((str(record[name]) for name in ID if is_problem_id(record.get(name))), None)
            yield Candidate(row, prompt, asked(prompt), problem=problem)
        outcome.steps["read"] = read

    def _keep(
        self,
        found: list[Candidate],
        step: str,
        wrong: Callable[[Candidate], tuple[Reason, str] | None],
        outcome: Outcome,
    ) -> list[Candidate]:
        kept = []
        for one in found:
            verdict = wrong(one)
            if verdict is None:
                kept.append(one)
            else:
                outcome.drop(step, verdict[0], one.row, verdict[1], one.text)
        outcome.steps[step] = len(kept)
        return kept

    def _licence_of(self, source: PlanSource) -> Callable[[Candidate], tuple[Reason, str] | None]:
        def wrong(one: Candidate) -> tuple[Reason, str] | None:
            licence = one.prompt.licence or source.licence or "none"
            allowed = not self._licences or licence.lower() in self._licences
            return None if allowed else ("licence", f"its licence is {licence}")

        return wrong

    def _without_benchmarks(self, found: list[Candidate], words: Words, outcome: Outcome) -> list[Candidate]:
        copies = self._copies(words)

        def wrong(one: Candidate) -> tuple[Reason, str] | None:
            if self._index is not None and one.problem is not None:
                return "benchmark_id", f"{one.problem} is the id of a benchmark's problem"
            copy = copies.get(one.number)
            return None if copy is None else ("benchmark_overlap", f"holds {copy}")

        return self._keep(found, "benchmarks", wrong, outcome)

    def _of_length(self, found: list[Candidate], outcome: Outcome) -> list[Candidate]:
        filters = self._plan.filters
        if self.counter.measures:
            for one, tokens in zip(found, self.counter.count([one.text for one in found]), strict=True):
                one.tokens = tokens

        def wrong(one: Candidate) -> tuple[Reason, str] | None:
            if one.tokens is None or filters.min_tokens <= one.tokens <= filters.max_tokens:
                return None
            return ("too_short" if one.tokens < filters.min_tokens else "too_long"), f"{one.tokens} tokens"

        return self._keep(found, "length", wrong, outcome)

    def _wrong_language(self, one: Candidate) -> tuple[Reason, str] | None:
        filters = self._plan.filters
        if filters.languages and one.language not in (*filters.languages, CODE):
            return "language", f"it is written in {one.language}"
        if filters.code != "any" and (one.code >= CODE_FROM) != (filters.code == "only"):
            return "code_share", f"{one.code * 100:.0f} % of its lines are code"
        return None


def line_of(source: PlanSource, one: Candidate) -> bytes:
    """The record as it is written."""
    record: dict[str, Any] = {
        "id": f"{source.name}:{_digest(msgspec.json.encode(one.prompt.messages))}",
        "messages": [{"role": message.role, "content": message.content} for message in one.prompt.messages],
        "source": source.name,
        "domain": source.domain,
        "language": one.language,
    }
    optional = {"source_id": one.prompt.id, "label": one.prompt.language, "tokens": one.tokens}
    record |= {name: value for name, value in optional.items() if value is not None}
    if licence := one.prompt.licence or source.licence:
        record["licence"] = licence
    return msgspec.json.encode(record) + b"\n"


def text_key(text: str) -> tuple[int, int]:
    """128 bits of a text as it is compared: low and high half."""
    value = xxhash.xxh3_128_intdigest(comparable(text).encode())
    return value & 0xFFFFFFFFFFFFFFFF, value >> 64


def _digest(content: bytes) -> str:
    return f"{xxhash.xxh3_128_intdigest(content):032x}"[:20]


def _shown(raw: object) -> str:
    if isinstance(raw, BadRow):
        return ""
    return (raw if isinstance(raw, bytes) else msgspec.json.encode(raw))[: SAMPLE_CHARACTERS * 4].decode(
        errors="replace"
    )
