"""Jobs in groups: how many, how many of them run or failed."""

from collections.abc import Callable, Sequence
from typing import Literal

import msgspec
from textual.content import Content

from state.records.jobs import ENDED, Job
from widgets.columns import Column

Grouping = Literal["recipe", "kind", "state"]
GROUPINGS: tuple[Grouping, ...] = ("recipe", "kind", "state")


class JobGroup(msgspec.Struct, frozen=True, kw_only=True):
    """Jobs that have one thing in common."""

    grouping: Grouping
    name: str
    jobs: int
    open: int
    failed: int
    newest: int
    """The highest number among them."""


_KEYS: dict[Grouping, Callable[[Job], str]] = {
    "recipe": lambda job: job.recipe or job.name, "kind": lambda job: job.kind, "state": lambda job: job.state,
}  # fmt: skip

GROUP_COLUMNS: tuple[Column[JobGroup], ...] = (
    Column("Group", lambda one: one.name, 20, grows=True, sort_key=lambda one: one.name),
    Column("By", lambda one: one.grouping, 7),
    Column("Jobs", lambda one: str(one.jobs), 6, "right", sort_key=lambda one: one.jobs),
    Column("Open", lambda one: str(one.open), 6, "right", sort_key=lambda one: one.open),
    Column("Failed", lambda one: Content.styled(str(one.failed), "$error" if one.failed else ""), 6, "right",
           sort_key=lambda one: one.failed),
    Column("Newest", lambda one: str(one.newest), 7, "right", sort_key=lambda one: one.newest),
)  # fmt: skip


def group_of(job: Job, grouping: Grouping) -> str:
    """The name of a job's group."""
    return _KEYS[grouping](job)


def grouped(jobs: Sequence[Job], grouping: Grouping) -> list[JobGroup]:
    """Groups, the one with the newest job first."""
    found: dict[str, list[Job]] = {}
    for job in jobs:
        found.setdefault(group_of(job, grouping), []).append(job)
    groups = [
        JobGroup(
            grouping=grouping, name=name, jobs=len(members), open=sum(job.state not in ENDED for job in members),
            failed=sum(job.state in ("failed", "lost") for job in members), newest=max(job.id for job in members),
        )
        for name, members in found.items()
    ]  # fmt: skip
    return sorted(groups, key=lambda group: -group.newest)
