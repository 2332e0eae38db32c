"""`alula data plan --document`: the page about a plan."""

from contextlib import closing
from pathlib import Path

import click

from console.command_line.data_options import leave
from console.command_line.live_view import to_json
from state.errors import StateError
from state.folder import state_folder
from state.outside_text import plain_line


def write_page(
    plan_path: Path,
    tokens_per_s: float | None,
    answer_tokens: float | None,
    gpus: int | None,
    price: float | None,
    currency: str,
    *,
    as_json: bool,
) -> None:
    """Write the next `train_plan_vN.md` beside the plan, and say where."""
    from engine.data.plan.document import Price, Speed, write_document
    from engine.data.plan.reading import read_plan
    from engine.data.plan.recorded import recorded_for
    from engine.data.plan.records import PlanError
    from state.database import open_database

    if (tokens_per_s is None) != (answer_tokens is None):
        leave("--tokens-per-s and --answer-tokens need each other", "give both, or neither", as_json=as_json)
    if price is not None and gpus is None:
        leave("--price needs --gpus", "give the number of GPUs that serve the target", as_json=as_json)
    speed = None if tokens_per_s is None or answer_tokens is None else Speed(tokens_per_s, answer_tokens, "as told")
    cost = None if gpus is None else Price(gpus, price, currency)
    try:
        plan = read_plan(plan_path)
        with closing(open_database(state_folder().database_path)) as database:
            recorded = recorded_for(database, plan_path, speed, cost)
        path = write_document(plan_path.absolute().parent, plan, recorded)
    except (PlanError, StateError) as error:
        leave(plain_line(str(error), 500), error.remedy, as_json=as_json)
    click.echo(to_json({"file": str(path)}) if as_json else f"written: {path}")
