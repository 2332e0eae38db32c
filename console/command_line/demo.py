"""`alula demo`: the whole campaign on this machine's CPU, in minutes."""

import shutil
import signal
import sys
import threading

import click

from console.command_line.live_view import to_json
from console.demo.commands import CommandFailed, Commands
from console.demo.place import take_place
from console.demo.settings import SMALL, WHOLE
from console.demo.story import Story

LEAVING_S = 60.0
"""A command or a question that is under way is waited for before all is cleaned up."""


@click.command()
@click.option("--headless", is_flag=True, help="Plain text; ends by itself. Taken without a terminal.")
@click.option("--small", is_flag=True, help="Less of everything: for a slow machine.")
@click.option("--keep", is_flag=True, help="Keep the state folder, and say where it is.")
@click.option("--json", "as_json", is_flag=True, help="Headless, and print the report alone as JSON.")
def demo(headless: bool, small: bool, keep: bool, as_json: bool) -> None:
    """The fault, the finding, the fix; then a campaign: benchmark, regeneration, training, benchmark, forecast.

    All on a throw-away state folder, in minutes on two idle cores. In a terminal the console opens on it. Training
    needs the extra `train`; without it the shipped draft is measured alone. The reference server is a small real model
    for machines with no GPU; its speed says nothing about one. One that was killed in its campaign is gone on with.
    Exit code 0; 1 where a step failed.

    Example: alula demo --headless
    """
    place = take_place()
    folder = place.folder
    plain = headless or as_json or not sys.stdout.isatty()
    story = Story(Commands(folder, quiet=as_json or not plain), SMALL if small else WHOLE, place.fault)
    try:
        code = _headless(story, as_json) if plain else _console(story)
    finally:
        story.clean_up()
        if keep:
            click.echo(f"kept: ALULA_HOME={folder}", err=True)
        else:
            shutil.rmtree(folder, ignore_errors=True)
    sys.exit(code)


def _headless(story: Story, as_json: bool) -> int:
    from console.demo.report import report_lines

    signal.signal(signal.SIGTERM, signal.default_int_handler)  # what it has started is stopped then too
    try:
        report = story.play()
    except CommandFailed as error:
        click.echo(f"alula demo: {error}", err=True)
        return 1
    except KeyboardInterrupt:
        return 130
    click.echo(to_json(report) if as_json else "\n".join(["", "Report", *(f"  {one}" for one in report_lines(report))]))
    return 0


def _console(story: Story) -> int:
    """Open the console at once; the story goes on beside it, and the Campaign screen shows it."""
    import httpx

    from console.app import Console
    from console.demo.report import report_lines
    from state.errors import StateError
    from state.folder import StateFolder

    problems: list[str] = []
    reports: list[str] = []

    def playing() -> None:
        try:
            reports.extend(report_lines(story.play()))
        except (CommandFailed, OSError, httpx.HTTPError, StateError) as error:
            problems.extend([] if story.commands.closed else [str(error)])

    thread = threading.Thread(target=playing, name="demo", daemon=True)
    thread.start()
    notice = "A demonstration: all of this is thrown away on leaving. Press 0 for its campaign."
    Console(StateFolder(path=story.commands.folder, notice=notice)).run()
    story.commands.closed = True
    thread.join(LEAVING_S)
    click.echo("\n".join(["Report", *(f"  {one}" for one in reports)] if reports else ["left before its end"]))
    for problem in problems:
        click.echo(f"alula demo: {problem}", err=True)
    return 1 if problems else 0
