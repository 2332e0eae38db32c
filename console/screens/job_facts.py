"""What is written of a job above its log: a few facts, or everything."""

import time
from collections.abc import Iterator, Sequence

from textual.content import Content

from engine.jobs.recipes.command import environment_lines
from engine.jobs.recipes.values import shown
from state.outside_text import plain_line
from state.records.jobs import Job, JobEvent, Schedule
from state.secret_words import shown_argv, shown_parameters
from widgets import figures
from widgets.facts import Fact
from widgets.jobs.columns import state_text, took
from widgets.jobs.place import place_words

LONGEST = 2000


def few_facts(job: Job) -> tuple[Fact, ...]:
    """Five lines."""
    reason = f"  {plain_line(job.reason, 200)}" if job.reason else ""
    started = _clock(job.started_at)
    return (
        ("state", state_text(job) + reason),
        ("time", f"{figures.duration(took(job))}, started {started}, {place_words(job)}"),
        ("command", plain_line(shown(shown_argv(job.argv)), LONGEST)),
        ("in", plain_line(job.working_dir)),
        ("run folder", plain_line(job.run_folder)),
    )


def all_facts(job: Job, events: Sequence[JobEvent]) -> tuple[Fact, ...]:
    """Everything: recipe, parameters, environment with secrets hidden, resources, timeline."""
    return (*few_facts(job), *_recipe(job), *_resources(job), *_environment(job), *_timeline(events))


def resource_words(schedule: Schedule, gpus: Sequence[int]) -> str:
    """What it asked for and what it was given."""
    asked = (
        f"GPUs {' '.join(map(str, schedule.gpu_choice))}" if schedule.gpu_choice else f"{schedule.gpus or 'no'} GPUs"
    )
    parts = [asked + (f", given {' '.join(map(str, gpus))}" if gpus else "")]
    if schedule.memory_bytes:
        parts.append(f"memory {schedule.memory_bytes >> 30} GiB")
    if schedule.ports:
        parts.append(f"port {' '.join(map(str, schedule.ports))}")
    return ", ".join(parts)


def _recipe(job: Job) -> Iterator[Fact]:
    if job.recipe is not None:
        yield "recipe", plain_line(job.recipe)
    for name, value in shown_parameters(job.parameters).items():
        text = shown(tuple(value) if isinstance(value, list) else value)
        if text:
            yield "", Content.assemble((f"{plain_line(name, 40)} = ", "$text-muted"), plain_line(text, LONGEST))


def _resources(job: Job) -> Iterator[Fact]:
    schedule = job.schedule
    yield "resources", resource_words(schedule, job.gpus)
    order = [f"priority {schedule.priority}"] if schedule.priority else []
    order += [f"after {' '.join(map(str, schedule.after))}"] if schedule.after else []
    order += [f"after the good end of {' '.join(map(str, schedule.after_ok))}"] if schedule.after_ok else []
    order += [f"at most {figures.duration(schedule.time_limit_s)}"] if schedule.time_limit_s else []
    order += [f"{schedule.retries} retries"] if schedule.retries else []
    order += [f"restart {schedule.restart}"] if schedule.restart != "never" else []
    order += [f"retry of job {job.retry_of}"] if job.retry_of else []
    if order:
        yield "queue", ", ".join(order)
    if schedule.ready_url:
        yield "ready", f"{plain_line(schedule.ready_url)}: {_clock(job.ready_at) if job.ready_at else 'not yet'}"


def _environment(job: Job) -> Iterator[Fact]:
    for place, line in enumerate(environment_lines(job)):
        yield "environment" if place == 0 else "", line


def _timeline(events: Sequence[JobEvent]) -> Iterator[Fact]:
    before: float | None = None
    for place, event in enumerate(events):
        after = f"+{figures.duration(event.at - before)}" if before is not None else ""
        before = event.at
        text = f"{_clock(event.at)}  {event.state:<9} {after:>9}  {plain_line(event.message, 300)}"
        yield "timeline" if place == 0 else "", text.rstrip()


def _clock(at: float | None) -> str:
    return time.strftime("%a %d %b %H:%M:%S", time.localtime(at)) if at else figures.ABSENT
