"""`alula train status`: how far trainings are, and the checkpoints they left."""

import sqlite3
import sys
from typing import TYPE_CHECKING

import click
import msgspec

from console.command_line.live_view import View, show, table
from state.folder import state_folder

if TYPE_CHECKING:
    from engine.train.progress import TrainingProgress

HEADINGS = ("TRAINING", "STATE", "STEP", "LOSS", "ACCURACY", "ETA", "CHECKPOINTS")


@click.command()
@click.argument("name", required=False)
@click.option("--watch", is_flag=True, help="Print anew each second until Ctrl-C.")
@click.option("--check", is_flag=True, help="Check each checkpoint as it would be served.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def status(name: str | None, watch: bool, check: bool, as_json: bool) -> None:
    """How far a training is; all of them where NAME is not given.

    Loss, accuracy by depth, learning rate, pace, ETA, checkpoints. Exit code 0; 1 where its job failed or a checkpoint
    breaks a rule; 2 where there is no such training.

    Example: alula train status qwen3-8b --check
    """
    from engine.train.specforge.plan import CannotPlan

    try:
        code = show(lambda database: _view(database, name, check), as_json=as_json, watch=watch)
    except CannotPlan as error:
        click.echo(f"alula train: {error}\n{error.remedy}", err=True)
        code = 2
    sys.exit(code)


def _view(database: sqlite3.Connection, name: str | None, check: bool) -> View:
    from engine.train.store import all_progress, progress, read_plan, training_folder

    if name is None:
        found = all_progress(database, state_folder())
        return View(_rows(found) or ["no training yet: alula train start --help"], _plain(found))
    plan = read_plan(training_folder(state_folder(), name))
    one = progress(database, plan)
    if check:
        one = _checked(one, plan.target)
    failed = one.state in ("failed", "lost") or any(each.errors for each in one.checkpoints)
    return View(_details(one), _plain(one), exit_code=1 if failed else 0)


def _checked(one: "TrainingProgress", target: str) -> "TrainingProgress":
    from engine.train.specforge.checking import checkpoint_errors

    checked = tuple(
        msgspec.structs.replace(each, errors=checkpoint_errors(target, each.path)) if each.form == "servable" else each
        for each in one.checkpoints
    )
    return msgspec.structs.replace(one, checkpoints=checked)


def _rows(found: list["TrainingProgress"]) -> list[str]:
    rows = [
        (one.name, one.state, _steps(one), _number(one.loss), _number(one.accuracy[0] if one.accuracy else None),
         _duration(one.eta_s), str(len(one.checkpoints)))
        for one in found
    ]  # fmt: skip
    return table(HEADINGS, rows, right=(2, 3, 4, 5, 6)) if rows else []


def _details(one: "TrainingProgress") -> list[str]:
    job = f", job {one.job_id}" if one.job_id is not None else ""
    lines = [
        f"{one.name}: {one.state}{job}",
        f"step           {_steps(one)}, ETA {_duration(one.eta_s)}, {_number(one.samples_per_s)} samples/s",
        f"loss           {_number(one.loss)}, learning rate {_number(one.learning_rate)}",
        f"accuracy       {_several(one.accuracy)}  by depth",
    ]
    if one.diverged:
        lines.append("the loss is not a number any more: stop it; go on from a checkpoint with a lower learning rate")
    if one.held_out_accuracy:
        length = _number(one.held_out_accept_length)
        lines.append(f"held out       {_several(one.held_out_accuracy)}  by depth, accept length {length}")
    if one.data_wait_share is not None and one.data_wait_share > 0.3:
        share = f"{one.data_wait_share * 100:.0f} %"
        lines.append(f"waits {share} of its time for data: capture servers or disk hold it up")
    for each in one.checkpoints:
        note = f"breaks {', '.join(each.errors)}" if each.errors else each.form
        lines.append(f"checkpoint     {each.path}  {note}")
    if one.checkpoints:
        lines.append(f"measure it     alula train benchmark {one.name} --prompts FILE")
    return lines


def _steps(one: "TrainingProgress") -> str:
    total = f" of {one.total_steps:,}" if one.total_steps is not None else ""
    return f"{one.step:,}{total}" if one.step is not None else f"–{total}"


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.4g}"


def _several(values: tuple[float, ...]) -> str:
    return " ".join(f"{value:.3f}" for value in values) or "–"


def _duration(seconds: float | None) -> str:
    if seconds is None:
        return "–"
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02} min" if hours else f"{minutes} min {rest:02} s"


def _plain(value: object) -> object:
    return msgspec.to_builtins(value, enc_hook=str)
