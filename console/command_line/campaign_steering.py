"""`alula campaign start`, `next`, `stop` and `resume`."""

import sys
from contextlib import closing
from pathlib import Path
from typing import Any, NoReturn

import click
import msgspec

from console.command_line.live_view import could_not, to_json
from engine.client import Client, CommandRefused, EngineUnavailable
from state.campaigns import find_campaign, read_campaign_steps
from state.database import open_database
from state.errors import StateError
from state.folder import state_folder
from state.outside_text import plain_line

FILE = click.Path(dir_okay=False, path_type=Path)
_json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


@click.command()
@click.argument("file", type=FILE)
@click.option("--step", "single_step", is_flag=True, help="Stop after the first step; alula campaign next goes on.")
@click.option("--dry-run", is_flag=True, help="Say which steps there would be; start nothing.")
@_json_option
def start(file: Path, single_step: bool, dry_run: bool, as_json: bool) -> None:
    """Start the campaign of FILE. The engine carries it on by itself, and stops where a check or a guard fails.

    Exit code 0; 2 where it cannot start.

    Example: alula campaign start campaign.toml
    """
    from engine.campaign.reading import read_specification, stored
    from engine.campaign.specification import CampaignError
    from engine.campaign.steps import steps_of

    try:
        wanted = read_specification(file)
    except CampaignError as error:
        leave(str(error), error.remedy, as_json)
    names = [step.name for step in steps_of(wanted)]
    if dry_run:
        click.echo(to_json({"name": wanted.name, "steps": names}) if as_json else "\n".join(names))
        return
    answer = _ask("campaign.start", {"specification": stored(wanted), "single_step": single_step}, as_json)
    said = f"{answer['name']} has started: {len(names)} steps, {names[0]} first\nalula campaign status --watch"
    click.echo(to_json(answer) if as_json else said)


@click.command("next")
@click.argument("name", required=False)
@click.option("--run", "go", is_flag=True, help="Do it, and stop behind it.")
@_json_option
def next_step(name: str | None, go: bool, as_json: bool) -> None:
    """The next step that is proposed, and the command for it; the newest campaign where no NAME is given.

    Example: alula campaign next --run
    """
    from engine.campaign.reports import read_view

    try:
        with closing(open_database(state_folder().database_path)) as database:
            campaign = find_campaign(database, name)
            view = read_view(database, campaign) if campaign is not None else None
    except StateError as error:
        sys.exit(could_not(error, as_json=as_json))
    if view is None:
        leave(f"there is no campaign {name or 'yet'}", "start one: alula campaign start FILE", as_json)
    if go:
        _resume(view.campaign.name, None, True, as_json)
        return
    if view.unreadable:
        leave(view.unreadable, view.proposal, as_json)
    value = {"name": view.campaign.name, "next": view.proposal, "command": view.proposed_command}
    lines = [
        f"{view.campaign.name}: {view.proposal}",
        *([f"  {view.proposed_command}"] if view.proposed_command else []),
    ]
    click.echo(to_json(value) if as_json else "\n".join(plain_line(line, 400) for line in lines))


@click.command()
@click.argument("name", required=False)
@_json_option
def stop(name: str | None, as_json: bool) -> None:
    """Stop the step that runs, politely, and begin no other; what it has is kept.

    Example: alula campaign stop
    """
    answer = _ask("campaign.stop", {"name": _name(name, as_json)}, as_json)
    said = f"{answer['name']} stands still\nalula campaign resume {answer['name']}"
    click.echo(to_json(answer) if as_json else said)


@click.command()
@click.argument("name", required=False)
@click.option("--file", type=FILE, help="Its changed file: limits, training, measurements. The steps must be the same.")
@_json_option
def resume(name: str | None, file: Path | None, as_json: bool) -> None:
    """Go on where a campaign was; a step that failed is tried again.

    Example: alula campaign resume
    """
    _resume(_name(name, as_json), file, False, as_json)


@click.command(hidden=True)
@click.argument("name")
def forecast(name: str) -> None:
    """The forecast step of a campaign: reads what it measured and writes forecast.json into its folder."""
    from engine.campaign.foretelling import foretell
    from engine.campaign.specification import CampaignError, specification_of

    with closing(open_database(state_folder().database_path)) as database:
        campaign = find_campaign(database, name)
        if campaign is None:
            leave(f"there is no campaign {name}", "see them: alula campaign status --all", False)
        steps = read_campaign_steps(database, campaign.id)
    try:
        found = foretell(specification_of(campaign), steps)
    except CampaignError as error:
        leave(str(error), error.remedy, False)
    path = Path(campaign.folder) / "forecast.json"
    whole = path.with_suffix(".part")
    whole.write_bytes(msgspec.json.encode(found))
    whole.replace(path)
    click.echo(to_json(found))


def _resume(name: str, file: Path | None, single_step: bool, as_json: bool) -> None:
    arguments: dict[str, Any] = {"name": name, "single_step": single_step}
    if file is not None:
        from engine.campaign.reading import read_specification, stored
        from engine.campaign.specification import CampaignError

        try:
            arguments["specification"] = stored(read_specification(file))
        except CampaignError as error:
            leave(str(error), error.remedy, as_json)
    answer = _ask("campaign.resume", arguments, as_json)
    said = f"{answer['name']} goes on\nalula campaign status {answer['name']} --watch"
    click.echo(to_json(answer) if as_json else said)


def _name(given: str | None, as_json: bool) -> str:
    """The newest campaign's name where none is given."""
    if given is not None:
        return given
    try:
        with closing(open_database(state_folder().database_path)) as database:
            newest = find_campaign(database, None)
    except StateError as error:
        sys.exit(could_not(error, as_json=as_json))
    if newest is None:
        leave("there is no campaign yet", "start one: alula campaign start FILE", as_json)
    return newest.name


def _ask(kind: str, arguments: dict[str, Any], as_json: bool) -> dict[str, Any]:
    try:
        client = Client(state_folder())
        client.ensure_engine()
        return client.ask(kind, arguments, timeout_s=15.0)
    except (StateError, EngineUnavailable, CommandRefused) as error:
        sys.exit(could_not(error, as_json=as_json))


def leave(message: str, remedy: str, as_json: bool) -> NoReturn:
    """End with exit code 2, saying why and what to do."""
    if as_json:
        click.echo(to_json({"error": message, "remedy": remedy}))
    else:
        click.echo(f"alula campaign: {plain_line(message, 500)}\n{plain_line(remedy, 300)}", err=True)
    sys.exit(2)
