"""What a plan says."""

from typing import Literal

import msgspec

from engine.data.records import Mapping, Source


class _Table(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """A table of the file: a field that is not known is a mistake."""


class Target(_Table, frozen=True):
    """The model that will answer."""

    model: str = ""
    tokenizer: str | None = None
    """A `tokenizer.json`, a folder with one, or `owner/name` of the hub."""
    characters_per_token: float | None = None
    """In place of a tokenizer: lengths are then estimates, and the manifest says so."""


class Sampling(_Table, frozen=True):
    """How the regeneration is to sample; `None` leaves it to the server."""

    max_tokens: int = 4096
    temperature: float | None = None
    top_p: float | None = None
    seed: int | None = None


class Filters(_Table, frozen=True):
    """What a prompt must be. Lengths are in tokens of the target, over all turns, without its chat template."""

    min_tokens: int = 1
    max_tokens: int = 8192
    languages: tuple[str, ...] = ()
    """ISO 639-1 codes of the language that a prompt is written in; empty for any. What is nearly all code passes."""
    code: Literal["any", "only", "none"] = "any"
    """Whether at least half of the lines must, or must not, be code."""
    licences: tuple[str, ...] = ()
    """Of the record, else of its source; empty for any."""


class Duplicates(_Table, frozen=True):
    """When two prompts count as the same."""

    exact: bool = True
    near: bool = True
    similarity: float = 0.8
    """Jaccard similarity of their word shingles from which on they do."""
    words: int = 5
    """In a shingle."""


class Decontamination(_Table, frozen=True):
    """Benchmarks whose prompts must not be trained on."""

    benchmarks: tuple[str, ...] = ()
    """Files, hub ids, or names: humaneval, humaneval-x, mbpp, multipl-e, mt-bench, gsm8k, math500, livecodebench."""
    words: int = 8
    """In an n-gram."""
    overlap: float = 0.3
    """Share of a benchmark prompt's n-grams in a record from which on it counts as a copy."""


class Faults(_Table, frozen=True):
    """What to do when a source is not as it should be."""

    bad_rows: Literal["skip", "stop"] = "skip"
    most_bad_share: float = 0.5
    """Stop where more than this share of a source's first 1,000 rows, or of all its rows, is bad."""
    unreachable: Literal["skip", "stop"] = "stop"
    changed: Literal["restart", "stop"] = "stop"
    """A file that changed since the preparation began."""


class Output(_Table, frozen=True):
    """The shards."""

    format: Literal["jsonl", "parquet"] = "jsonl"
    shard_rows: int = 20_000


class PlanSource(_Table, frozen=True):
    """A source and its part of the mix."""

    name: str
    path: str | None = None
    hub: str | None = None
    config: str | None = None
    split: str | None = None
    revision: str | None = None
    encoding: str = "utf-8"
    domain: str = "other"
    licence: str | None = None
    quota: int | None = None
    """So many records."""
    weight: float | None = None
    """A part of the plan's total."""
    limit: int | None = None
    """Rows to read at most."""
    native: bool = False
    """Records with `input_ids` and `loss_mask` of the target; they pass through untouched."""
    benchmark: bool = False
    """Take it although it is a benchmark."""
    map: Mapping | None = None

    def source(self) -> Source:
        """Where its rows are read."""
        return Source(
            path=self.path, hub=self.hub, config=self.config, split=self.split, revision=self.revision,
            encoding=self.encoding,
        )  # fmt: skip


class Plan(_Table, frozen=True):
    """The data of a campaign."""

    name: str
    seed: int = 0
    total: int | None = None
    """Records of the mix, those of sources with a quota included; everything where it is not given."""
    target: Target = Target()
    sampling: Sampling = Sampling()
    filters: Filters = Filters()
    duplicates: Duplicates = Duplicates()
    decontamination: Decontamination = Decontamination()
    faults: Faults = Faults()
    output: Output = Output()
    source: tuple[PlanSource, ...] = ()


class PlanError(Exception):
    """A plan cannot be used. The message names the place; `remedy` says what to do."""

    def __init__(self, message: str, remedy: str) -> None:
        super().__init__(message)
        self.remedy = remedy
