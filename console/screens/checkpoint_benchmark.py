"""Measures the newest checkpoint of a training, by one key of its job."""

import asyncio
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from console.screens.alula_command import run_alula
from state.bench import read_benches
from state.database import open_database
from state.errors import StateError
from state.records.jobs import Job

if TYPE_CHECKING:
    from console.app import Console
    from engine.train.benchmark import Trained

LAST_BENCHES = 20
"""Among so many are prompts looked for."""


async def benchmark_checkpoint(console: "Console", job: Job) -> None:
    """Say which checkpoint and what the checker has against it, ask for the prompts, and have it measured."""
    from console.screens.text_question import TextQuestion
    from engine.train.specforge.plan import CannotPlan

    try:
        question = await asyncio.to_thread(_question, job)
    except (CannotPlan, StateError) as error:
        console.notify(f"{error}; {error.remedy}", severity="warning", markup=False)
        return
    prompts = await asyncio.to_thread(_prompts_of_before, console.folder.database_path)

    def answered(file: str | None) -> None:
        if file:
            _measure(console, job, file)

    console.push_screen(TextQuestion(question, prompts), answered)


def _question(job: Job) -> str:
    from engine.train.benchmark import chosen, trained_by

    trained = trained_by(job)
    checkpoint = chosen(trained, None)
    errors = _errors(trained, checkpoint.path) if checkpoint.form == "servable" else ()
    against = f", which breaks {', '.join(errors)}" if errors else ""
    return f"Measure step {checkpoint.step} of {trained.name}{against}, with the prompts of which file?"


def _errors(trained: "Trained", path: Path) -> tuple[str, ...]:
    from engine.train.specforge.checking import checkpoint_errors

    return checkpoint_errors(trained.target, path)


def _prompts_of_before(path: Path) -> str:
    """The file of the newest benchmark that had one, so that figures can be compared."""
    from engine.bench.cells import read_plan
    from engine.bench.records import BenchError

    with closing(open_database(path)) as database:
        benches = read_benches(database)[:LAST_BENCHES]
    for bench in benches:
        try:
            found = read_plan(Path(bench.run_folder)).prompts.path
        except BenchError:
            continue
        if found and Path(found).is_file():
            return found
    return ""


def _measure(console: "Console", job: Job, prompts: str) -> None:
    """By the same command that an operator types."""
    words = ["train", "benchmark", "--job", str(job.id), "--prompts", str(Path(prompts).expanduser())]
    run_alula(console, words, lambda printed: "the checkpoint is being measured: press 8")
