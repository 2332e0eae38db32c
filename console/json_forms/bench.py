"""Of `alula bench`."""

from typing import NotRequired, TypedDict

from console.json_forms.common import Forms
from engine.bench.comparison import Comparison
from engine.bench.economics import Economics
from engine.bench.tune import Advice
from state.records.bench import Bench, BenchProgress


class BenchStarted(TypedDict):
    """The benchmark and the job that works on it."""

    bench_id: int
    name: str
    run_folder: NotRequired[str]
    job_id: int


class BenchStopping(TypedDict):
    """The benchmark that was asked to stop."""

    bench_id: int
    name: str


class BenchListed(TypedDict):
    """A benchmark and how far it is."""

    bench: Bench
    progress: BenchProgress | None


class BenchShown(TypedDict):
    """One benchmark; of a run folder that no engine knows, the comparison alone."""

    comparison: Comparison
    bench: NotRequired[Bench]
    progress: NotRequired[BenchProgress | None]


class BenchExported(TypedDict):
    """The files that were written; `file` is the first."""

    file: str
    files: list[str]
    rows: int


FORMS: Forms = {
    "bench compare": {"": Comparison},
    "bench economics": {"": Economics},
    "bench export": {"": BenchExported},
    "bench resume": {"": BenchStarted, "--wait": Comparison},
    "bench run": {"": BenchStarted, "--wait or --here": Comparison},
    "bench show": {"": list[BenchListed], "NAME": BenchShown},
    "bench stop": {"": BenchStopping},
    "bench sweep": {"": BenchStarted, "--wait or --here": Comparison},
    "bench tune": {"": list[Advice], "--run": BenchStarted},
}
