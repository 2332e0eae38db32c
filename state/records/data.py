"""Training data: searches of the hub, the sets that they found, preparations of a mix."""

from typing import Any, Literal

import msgspec

DataWorkState = Literal["running", "done", "failed", "stopped"]
ScoutState = Literal["waiting", "asking", "done", "failed"]
Access = Literal["open", "terms", "request", "private", "unknown"]
"""`terms`: to be accepted on the hub and granted at once; `request`: its authors decide."""


class DataSet(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A data set of the curated table: the same facts for each, those that are not known `None`."""

    id: str
    """`owner/name` on the hub."""
    domain: str
    config: str | None = None
    split: str | None = None
    rows: int | None = None
    bytes: int | None = None
    """Of the files to download."""
    languages: tuple[str, ...] = ()
    licence: str | None = None
    format: str | None = None
    access: Access = "unknown"
    benchmark: bool = False
    """A set to measure with: what trains on it makes the figures measured on it worthless."""
    downloads: int | None = None
    """In the last 30 days."""
    modified_at: float | None = None
    columns: dict[str, str] = {}
    """Name to type."""
    shape: str | None = None
    mapping: dict[str, str] = {}
    score: float = 0.0
    """Fit, 0 to 1."""
    why: str = ""
    remark: str = ""
    found_by: tuple[str, ...] = ()
    """Scouts."""
    copies: tuple[str, ...] = ()
    """Mirrors and derivatives that were left out in its favour."""
    kept: bool = True
    sources: dict[str, str] = {}
    """Fact to where it was read."""


class DataSearch(msgspec.Struct, frozen=True, kw_only=True):
    """A search of the hub by several scouts."""

    id: int = 0
    name: str
    run_folder: str
    created_at: float
    ended_at: float | None = None
    state: DataWorkState = "running"
    message: str = ""
    sets: tuple[DataSet, ...] = ()
    """The curated table, once there is one."""


class ScoutProgress(msgspec.Struct, frozen=True, kw_only=True):
    """One scout of a search."""

    search_id: int
    scout: str
    round: str
    state: ScoutState
    asked: int
    to_ask: int
    found: int
    kept: int
    message: str = ""
    updated_at: float


class FunnelStep(msgspec.Struct, frozen=True):
    """How many records are left after a step of a preparation."""

    name: str
    left: int
    dropped: dict[str, int] = {}
    """Reason to count."""


class DataShare(msgspec.Struct, frozen=True):
    """A source's part of a mix."""

    name: str
    domain: str
    wanted: int | None
    """Records; `None` where all are taken."""
    available: int | None = None
    taken: int | None = None


class PlanPart(msgspec.Struct, frozen=True, kw_only=True):
    """A source's part of a plan, before anything is read."""

    name: str
    domain: str
    read_from: str
    records: int | None
    """Of the mix; `None` where all are taken."""
    share: float | None
    """Of the total, 0 to 1; `None` where the plan has none."""
    by: str
    """`weight`, `quota` or `all`."""


class DataPreparation(msgspec.Struct, frozen=True, kw_only=True):
    """One run of a plan."""

    id: int = 0
    name: str
    run_folder: str
    plan_path: str
    output_folder: str
    created_at: float
    ended_at: float | None = None
    job_id: int | None = None
    state: DataWorkState = "running"
    message: str = ""
    stage: str = ""
    rows_read: int = 0
    rows_per_s: float | None = None
    updated_at: float = 0.0
    funnel: tuple[FunnelStep, ...] = ()
    shares: tuple[DataShare, ...] = ()
    manifest: dict[str, Any] = {}
    """What a plan document tells of it; the whole manifest lies in the output folder."""


class DataSample(msgspec.Struct, frozen=True):
    """A record to look at; all of its texts come from outside."""

    verdict: str
    """`kept`, or the reason for leaving it out."""
    place: str
    """Its id, or its source and row."""
    message: str
    text: str


class SearchRow(msgspec.Struct, frozen=True):
    """A search with its scouts, and the job that it runs as."""

    search: DataSearch
    scouts: tuple[ScoutProgress, ...] = ()
    job_id: int | None = None


DataWork = SearchRow | DataPreparation
"""What the screen of training data lists."""
