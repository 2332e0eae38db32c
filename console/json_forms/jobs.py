"""Of `alula jobs`."""

from typing import Any, TypedDict

from console.json_forms.common import Forms, Launched, Nothing
from engine.jobs.log_series import MetricSeries
from engine.jobs.recipes.command import Launch
from engine.jobs.recipes.host_checks import Problem as LaunchProblem
from engine.jobs.recipes.interpreters import FoundInterpreter
from state.records.jobs import Job, JobEvent, JobState


class JobShown(TypedDict):
    """One job and its timeline."""

    job: Job
    events: list[JobEvent]


class LogLine(TypedDict):
    """One line of a log; each is a JSON text of its own."""

    line: str


class DryLaunch(TypedDict):
    """What would be launched, and what stands against it."""

    launch: Launch
    problems: list[LaunchProblem]
    interpreter: FoundInterpreter | None


class Stopping(TypedDict):
    """The job and its state when it was asked to stop."""

    job_id: int
    state: JobState


class Drained(TypedDict):
    """Jobs that still ran when the time was up."""

    running: list[int]


class Recipes(TypedDict):
    """All recipes, and files of recipes that cannot be used."""

    recipes: list[dict[str, Any]]
    mistakes: list["RecipeMistake"]


class RecipeMistake(TypedDict):
    """A file in the folder of recipes that cannot be used."""

    file: str
    line: int | None
    reason: str


FORMS: Forms = {
    "jobs drain": {"": Drained},
    "jobs launch": {"": Launched, "--dry-run": DryLaunch},
    "jobs list": {"": list[Job]},
    "jobs logs": {"": LogLine},
    "jobs metrics": {"": list[MetricSeries]},
    "jobs pause": {"": Nothing},
    "jobs recipes": {"": Recipes, "NAME": dict[str, Any]},
    "jobs resume": {"": Nothing},
    "jobs retry": {"": Launched},
    "jobs secret list": {"": list[str]},
    "jobs show": {"": JobShown},
    "jobs stop": {"": Stopping},
}
