"""Of `alula data`."""

from typing import NotRequired, TypedDict

from console.json_forms.common import Forms
from engine.data.discovery.scouts import Scout
from engine.data.discovery.search import Outcome
from engine.data.plan.records import Plan
from engine.data.prepare.manifest import Manifest
from engine.data.show import Look


class Searched(Outcome, frozen=True, kw_only=True):
    """What a search found, and the folder that holds its tables and a plan."""

    folder: str


class SearchStarted(TypedDict):
    """The job that searches."""

    search_id: int
    job_id: int
    run_folder: str


class Planned(TypedDict):
    """The plan that was written."""

    file: str
    plan: Plan


class PreparationStarted(TypedDict):
    """The job that prepares; `done` in its place where all of it is there already."""

    job_id: NotRequired[int]
    done: NotRequired[bool]
    output_folder: str


FORMS: Forms = {
    "data plan": {"": Planned},
    "data prepare": {"": PreparationStarted, "--here": Manifest},
    "data search": {"": Searched, "--job": SearchStarted, "--list": list[Scout]},
    "data show": {"": Look},
}
