"""`alula train benchmark`: is a checkpoint faster than its target alone?"""

import sys
from pathlib import Path

import click


@click.command()
@click.argument("name")
@click.option("--prompts", required=True, type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--step", type=int, help="Of the checkpoint; the newest where not given.")
@click.option(
    "--num-steps", default=3, show_default=True, type=click.IntRange(1), help="Drafted tokens a verification."
)
@click.option("--reference", is_flag=True, help="Serve with the reference server in place of SGLang.")
@click.option("--wait", is_flag=True, help="Wait for the end, then print the comparison.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def benchmark(
    name: str, prompts: Path, step: int | None, num_steps: int, reference: bool, wait: bool, as_json: bool
) -> None:
    """Measure a checkpoint of the training NAME: the target alone, then with the checkpoint as its draft.

    Exit code 0; 2 where there is no checkpoint that can be served.

    Example: alula train benchmark qwen3-8b --prompts HumanEval.jsonl.gz --wait
    """
    from console.command_line.bench_running import start_plan
    from engine.bench.records import BenchError
    from engine.bench.sweep_file import read_sweep
    from engine.train.benchmark import chosen, sweep, write_sweep
    from engine.train.specforge.plan import CannotPlan
    from engine.train.store import read_plan, training_folder
    from state.folder import state_folder

    try:
        plan = read_plan(training_folder(state_folder(), name))
        made = sweep(plan, chosen(plan, step), prompts, num_steps, reference)
        measured = read_sweep(write_sweep(plan, made))
    except (CannotPlan, BenchError) as error:
        click.echo(f"alula train: {error}\n{error.remedy}", err=True)
        sys.exit(2)
    start_plan(measured, here=False, wait=wait, as_json=as_json)
