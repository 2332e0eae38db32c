"""Two jobs beside one another: what they were given, and how they ended."""

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from engine.jobs.recipes.values import shown
from state.records.jobs import Job
from state.secret_words import shown_argv, shown_environment, shown_parameters


class ComparedRow(msgspec.Struct, frozen=True, kw_only=True):
    """One thing of both."""

    section: str
    name: str
    left: str
    right: str

    @property
    def differs(self) -> bool:
        """Whether it is not the same in both."""
        return self.left != self.right


def compared(left: Job, right: Job) -> list[ComparedRow]:
    """All rows, those that differ first in each section."""
    rows = [row for section in (_parameters, _words, _surroundings, _outcome) for row in section(left, right)]
    order = list(dict.fromkeys(row.section for row in rows))
    return sorted(rows, key=lambda row: (order.index(row.section), not row.differs))


def one_before(job: Job, jobs: Sequence[Job]) -> Job | None:
    """What it was tried again from, else the newest older job of the same recipe, or of the same name without one."""
    retried = next((one for one in jobs if one.id == job.retry_of), None)
    alike = [
        one for one in jobs if one.id < job.id and one.recipe == job.recipe and (job.recipe or one.name == job.name)
    ]
    return retried or max(alike, key=lambda one: one.id, default=None)


def _parameters(left: Job, right: Job) -> Iterator[ComparedRow]:
    shown_left, shown_right = shown_parameters(left.parameters), shown_parameters(right.parameters)
    for name in dict.fromkeys((*left.parameters, *right.parameters)):
        texts = [_shown(one.get(name)) for one in (shown_left, shown_right)]
        yield ComparedRow(section="parameter", name=name, left=texts[0], right=texts[1])


def _words(left: Job, right: Job) -> Iterator[ComparedRow]:
    """The command's words, where parameters do not say it."""
    if left.parameters and right.parameters:
        return
    yield ComparedRow(
        section="command", name="command", left=shown(tuple(shown_argv(left.argv))),
        right=shown(tuple(shown_argv(right.argv))),
    )  # fmt: skip


def _surroundings(left: Job, right: Job) -> Iterator[ComparedRow]:
    def row(name: str, value: Any) -> ComparedRow:
        return ComparedRow(section="where", name=name, left=value(left), right=value(right))

    yield row("recipe", lambda job: job.recipe or "")
    yield row("directory", lambda job: job.working_dir)
    yield row("GPUs", lambda job: " ".join(map(str, job.gpus)))
    yield row("priority", lambda job: str(job.schedule.priority))
    for name in sorted({*left.environment, *right.environment}):
        yield row(name, lambda job, name=name: shown_environment(job.environment).get(name, ""))


def _outcome(left: Job, right: Job) -> Iterator[ComparedRow]:
    def row(name: str, value: Any) -> ComparedRow:
        return ComparedRow(section="outcome", name=name, left=value(left), right=value(right))

    yield row("state", lambda job: job.state)
    yield row("exit code", lambda job: "" if job.exit_code is None else str(job.exit_code))
    yield row("why", lambda job: job.reason or "")
    yield row("took", _took)


def _took(job: Job) -> str:
    if job.started_at is None or job.ended_at is None:
        return ""
    return f"{max(0.0, job.ended_at - job.started_at):.0f} s"


def _shown(value: Any) -> str:
    return shown(tuple(map(str, value)) if isinstance(value, list | tuple) else value)
