"""Of `alula regen`."""

from typing import NotRequired, TypedDict

from console.json_forms.common import Forms
from engine.regen.manifest import Manifest
from engine.regen.steering import ServerEntry
from engine.regen.verify import Verdict
from state.records.regeneration import (
    Regeneration,
    RegenerationDetail,
    RegenerationProgress,
    RegenerationServer,
)


class RunStarted(TypedDict):
    """The run and the job that works on it; `job_ids` are those of all shards, where it has several."""

    run_id: int
    name: str
    run_folder: str
    job_id: int
    job_ids: NotRequired[list[int]]


class RunPaused(TypedDict):
    """The run that is being paused."""

    run_id: int
    name: str


class RunResumed(RunPaused):
    """The run and its new jobs, one for each shard; `job_id` is the first."""

    job_id: int
    job_ids: list[int]


class RunRetried(RunResumed):
    """How many samples are asked again."""

    count: int


class RunListed(TypedDict):
    """A run and how far it is; `progress` is `null` before its worker has told anything."""

    run: Regeneration
    progress: RegenerationProgress | None


class RunShown(RunListed):
    """The same, with sources, servers and the slowest samples; of a run in shards, each shard too."""

    detail: RegenerationDetail | None
    shards: NotRequired[list[RunListed]]


class Steered(TypedDict):
    """What the run goes by from now on. A concurrency of `null` is found by trying."""

    name: str
    servers: list[ServerEntry]
    concurrency: int | None
    pause_at: dict[str, float]


class Failure(TypedDict):
    """One kind of failure."""

    kind: str
    count: int
    example: str
    message: str
    remedy: str


class Flaw(TypedDict):
    """One kind of flaw in one source's answers; `share` is of its answers."""

    source: str
    kind: str
    count: int
    share: float | None
    example: str


FORMS: Forms = {
    "regen export": {"": Manifest},
    "regen failures": {"": list[Failure]},
    "regen flaws": {"": list[Flaw]},
    "regen list": {"": list[RunListed]},
    "regen pause": {"": RunPaused},
    "regen resume": {"": RunResumed},
    "regen retry": {"": RunRetried},
    "regen servers": {"": list[RegenerationServer], "add or remove": Steered},
    "regen start": {"": RunStarted},
    "regen status": {"": RunShown},
    "regen tune": {"": Steered},
    "regen verify": {"": Verdict},
}
