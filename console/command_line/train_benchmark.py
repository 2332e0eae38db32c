"""`alula train benchmark`: is a checkpoint faster than its target alone?"""

import sys
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import click

from state.outside_text import plain_line

if TYPE_CHECKING:
    from engine.train.benchmark import Trained


@click.command()
@click.argument("name", required=False)
@click.option(
    "--job", "number", type=click.IntRange(1, 2**63 - 1), help="The training that ran as this job, in place of NAME."
)
@click.option("--prompts", required=True, type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--step", type=int, help="Of the checkpoint; the newest where not given.")
@click.option(
    "--num-steps", default=3, show_default=True, type=click.IntRange(1), help="Drafted tokens a verification."
)
@click.option("--reference", is_flag=True, help="Serve with the reference server in place of SGLang.")
@click.option("--wait", is_flag=True, help="Wait for the end, then print the comparison.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def benchmark(
    name: str | None,
    number: int | None,
    prompts: Path,
    step: int | None,
    num_steps: int,
    reference: bool,
    wait: bool,
    as_json: bool,
) -> None:
    """Measure a checkpoint of the training NAME: the target alone, then with the checkpoint as its draft.

    A checkpoint of SpecForge 0.2.0 is exported first, once. With --job, of the reference trainer too. Exit code 0; 2
    where there is no checkpoint that can be served.

    Example: alula train benchmark qwen3-8b --prompts HumanEval.jsonl.gz --wait
    """
    from console.command_line.bench_running import start_plan
    from engine.bench.records import BenchError
    from engine.bench.sweep_file import read_sweep
    from engine.train.benchmark import chosen, sweep, write_sweep
    from engine.train.exporting import servable
    from engine.train.specforge.plan import CannotPlan
    from state.errors import StateError

    try:
        trained = _trained(name, number)
        checkpoint = chosen(trained, step)
        draft = servable(trained.plan, checkpoint)
        made = sweep(trained, draft, checkpoint.step, prompts, num_steps, reference or trained.reference)
        measured = read_sweep(write_sweep(trained, made))
    except (CannotPlan, BenchError, StateError) as error:
        _leave(str(error), error.remedy)
    except OSError as error:
        _leave(f"{error.filename}: {error.strerror}", "free space, or set ALULA_HOME")
    start_plan(measured, here=False, wait=wait, as_json=as_json)


def _trained(name: str | None, number: int | None) -> "Trained":
    from engine.train.benchmark import of_plan, trained_by
    from engine.train.specforge.plan import CannotPlan
    from engine.train.store import read_plan, training_folder
    from state.database import open_database
    from state.folder import state_folder
    from state.jobs import read_job

    if (name is None) == (number is None):
        raise CannotPlan("give the NAME of a training or --job, and not both", "see them: alula train status")
    if name is not None:
        return of_plan(read_plan(training_folder(state_folder(), name)))
    with closing(open_database(state_folder().database_path)) as database:
        job = read_job(database, number or 0)
    if job is None:
        raise CannotPlan(f"there is no job {number}", "see them: alula jobs list")
    return trained_by(job)


def _leave(message: str, remedy: str) -> NoReturn:
    click.echo(f"alula train: {plain_line(message, 500)}\n{plain_line(remedy, 900)}", err=True)
    sys.exit(2)
