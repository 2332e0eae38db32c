"""`alula campaign document`: the training plan as a page, with what each figure was made from."""

import sqlite3
import sys
import time
from contextlib import closing
from pathlib import Path

import click

from console.command_line.campaign_steering import leave
from console.command_line.live_view import could_not, to_json
from state.campaigns import find_campaign
from state.database import open_database
from state.errors import StateError
from state.folder import make_private, state_folder
from state.records.campaigns import CampaignView


@click.command()
@click.argument("name", required=False)
@click.option("--output", type=click.Path(path_type=Path), help="File, or folder for the next train_plan_vN.md.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def document(name: str | None, output: Path | None, as_json: bool) -> None:
    """Write train_plan_vN.md: plan, funnel, measurements, forecast, and how each thing was made.

    N is the first number that is not taken; the newest campaign where no NAME is given.

    Example: alula campaign document --output .
    """
    from engine.campaign.document import document_of
    from engine.campaign.reports import read_view
    from engine.train_plan import next_document

    try:
        with closing(open_database(state_folder().database_path)) as database:
            campaign = find_campaign(database, name)
            view = read_view(database, campaign) if campaign is not None else None
            data_page = _data_page(database, view) if view is not None and not view.unreadable else ""
    except StateError as error:
        sys.exit(could_not(error, as_json=as_json))
    if view is None:
        leave(f"there is no campaign {name or 'yet'}", "start one: alula campaign start FILE", as_json)
    if view.unreadable:
        leave(view.unreadable, view.proposal, as_json)
    folder = output if output is not None and output.is_dir() else Path(view.campaign.folder)
    path = output if output is not None and not output.is_dir() else next_document(folder)
    try:
        if folder == Path(view.campaign.folder):
            make_private(make_private(folder.parent) / folder.name)
        path.write_text(document_of(view, time.strftime("%Y-%m-%d %H:%M"), data_page), encoding="utf-8")
    except OSError as error:
        leave(f"cannot write {path}: {error.strerror}", "give another --output", as_json)
    click.echo(to_json({"file": str(path)}) if as_json else str(path))


def _data_page(database: sqlite3.Connection, view: CampaignView) -> str:
    """The page about the plan of the data; empty where there is no plan, or it has gone."""
    from engine.campaign.specification import specification_of
    from engine.data.plan.document import Speed
    from engine.data.plan.document import document_of as data_document
    from engine.data.plan.reading import read_plan
    from engine.data.plan.recorded import recorded_for
    from engine.data.plan.records import PlanError

    wanted = specification_of(view.campaign)
    if not wanted.data.plan:
        return ""
    found = next((step.figures for step in view.steps if step.kind == "regen" and step.figures.get("done")), None)
    speed = None
    if found is not None and found.get("tokens_per_s"):
        speed = Speed(found["tokens_per_s"], found["tokens"] / found["done"], "the regeneration of this campaign")
    path = Path(wanted.data.plan)
    try:
        return data_document(read_plan(path), recorded_for(database, path, speed, None), "with the campaign")
    except PlanError:
        return ""
