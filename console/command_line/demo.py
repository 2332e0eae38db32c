"""`alula demo`: a small campaign on this machine's CPU, in minutes."""

import shutil
import sys
import threading

import click

from console.command_line.live_view import to_json
from console.demo.campaign import FAULTY, MENDED, Campaign, make_folder
from console.demo.commands import CommandFailed, Commands


@click.command()
@click.option("--headless", is_flag=True, help="Plain text; ends by itself. Taken without a terminal.")
@click.option("--keep", is_flag=True, help="Keep the state folder, and say where it is.")
@click.option("--json", "as_json", is_flag=True, help="Headless, and print the summary alone as JSON.")
def demo(headless: bool, keep: bool, as_json: bool) -> None:
    """The incident, the finding, the fix and a regeneration, on a throw-away state folder.

    In a terminal the console opens on it. The reference server is a small real model for machines with no GPU; its
    speed says nothing about one.

    Example: alula demo --headless
    """
    folder = make_folder()
    campaign = Campaign(Commands(folder, quiet=as_json or not (headless or not sys.stdout.isatty())))
    try:
        code = _headless(campaign, as_json) if headless or as_json or not sys.stdout.isatty() else _console(campaign)
    finally:
        campaign.clean_up()
        if keep:
            click.echo(f"kept: ALULA_HOME={folder}", err=True)
        else:
            shutil.rmtree(folder, ignore_errors=True)
    sys.exit(code)


def _headless(campaign: Campaign, as_json: bool) -> int:
    from console.demo.headless import print_summary, run_headless

    try:
        summary = run_headless(campaign)
    except CommandFailed as error:
        click.echo(f"alula demo: {error}", err=True)
        return 1
    except KeyboardInterrupt:
        return 130
    click.echo(to_json(summary)) if as_json else print_summary(campaign, summary)
    return 0


def _console(campaign: Campaign) -> int:
    """Open the console at once; servers and regeneration are started beside it."""
    from console.app import Console
    from state.folder import StateFolder

    problems: list[str] = []

    def prepare() -> None:
        try:
            campaign.measure(campaign.start_server(FAULTY, "EAGLE"))
            campaign.start_run(campaign.start_server(MENDED, "EAGLE3"))
        except (CommandFailed, OSError) as error:
            problems.append(str(error))

    threading.Thread(target=prepare, name="demo", daemon=True).start()
    Console(
        StateFolder(path=campaign.commands.folder, notice="A demonstration: all of this is thrown away on leaving.")
    ).run()
    for problem in problems:
        click.echo(f"alula demo: {problem}", err=True)
    return 1 if problems else 0
