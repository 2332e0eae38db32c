"""`alula schema`: the JSON Schema of what a command prints."""

import difflib
import sys

import click
import msgspec

from console.command_line.live_view import could_not
from state.errors import StateError


@click.command()
@click.argument("words", nargs=-1, metavar="[COMMAND]...")
def schema(words: tuple[str, ...]) -> None:
    """Print the JSON Schema of what COMMAND prints with --json; all of them, by command, where none is given.

    Keys are added to outputs in later releases, never renamed or dropped.

    Example: alula schema jobs list
    """
    from console.json_forms.schema import schema_of
    from console.json_forms.table import FORMS

    command = " ".join(words).removeprefix("alula ")
    if command and command not in FORMS:
        near = difflib.get_close_matches(command, FORMS, n=1)
        remedy = f"did you mean: alula schema {near[0]}" if near else f"there are: {', '.join(FORMS)}"
        sys.exit(could_not(StateError(f"{command} has no --json", remedy), as_json=False))
    found = schema_of(command) if command else {name: schema_of(name) for name in FORMS}
    click.echo(msgspec.json.format(msgspec.json.encode(found), indent=2).decode())
