"""Of `alula train`."""

from typing import Any, TypedDict

from console.json_forms.bench import BenchStarted
from console.json_forms.common import Forms, Launched
from engine.bench.comparison import Comparison
from engine.check.records import Finding
from engine.reference.training.settings import TrainingResult
from engine.train.forecast.records import Forecast
from engine.train.progress import TrainingProgress
from engine.train.specforge.plan import TrainingPlan
from engine.train.specforge.problems import Problem as TrainingProblem


class DraftConfig(TypedDict):
    """A draft's config.json, and what the check says of it."""

    config: dict[str, Any]
    findings: list[Finding]


class GpuMemory(TypedDict):
    """Bytes on each training GPU."""

    draft: int
    frozen: int
    teacher: int
    unrolled: int
    total: int


class TrainingReview(TypedDict):
    """A training before it starts; `started` is its job, `null` with `--dry-run` or where a check stands against it."""

    plan: TrainingPlan
    config: dict[str, Any]
    command: list[str]
    preparation: list[str]
    hidden_state_bytes: int | None
    gpu_memory: GpuMemory
    free_disk: int | None
    problems: list[TrainingProblem]
    started: Launched | None


FORMS: Forms = {
    "train benchmark": {"": BenchStarted, "--wait": Comparison},
    "train config": {"": DraftConfig},
    "train forecast": {"": Forecast},
    "train reference": {"": TrainingResult},
    "train start": {"": TrainingReview},
    "train status": {"": list[TrainingProgress], "NAME": TrainingProgress},
}
