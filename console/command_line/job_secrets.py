"""`alula jobs secret`: values that jobs get by name, and that are shown nowhere."""

import sys

import click

from console.command_line.live_view import could_not, to_json
from engine.jobs.secrets import remove_secret, secret_names, write_secret
from state.errors import StateError
from state.folder import state_folder

_json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


@click.group()
def secret() -> None:
    """Tokens and keys for jobs. A job names them; the values stay in files that only you can read."""


@secret.command("set")
@click.argument("name")
def set_secret(name: str) -> None:
    """Keep a value: typed without an echo, or from standard input. Never on the command line, where others see it.

    Example: alula jobs secret set HF_TOKEN < token.txt
    """
    value = click.prompt(name, hide_input=True, err=True) if sys.stdin.isatty() else sys.stdin.read().rstrip("\n")
    try:
        write_secret(state_folder().secrets_path, name, value)
    except StateError as error:
        sys.exit(could_not(error, as_json=False))
    click.echo(f"kept; a job gets it with: alula jobs launch --secret {name} ...")


@secret.command("list")
@_json_option
def list_secrets(as_json: bool) -> None:
    """Names of what is kept. Values are not shown.

    Example: alula jobs secret list
    """
    try:
        names = secret_names(state_folder().secrets_path)
    except StateError as error:
        sys.exit(could_not(error, as_json=as_json))
    click.echo(to_json(names) if as_json else "\n".join(names) or "none is kept; keep one: alula jobs secret set NAME")


@secret.command("remove")
@click.argument("name")
def remove(name: str) -> None:
    """Forget a value.

    Example: alula jobs secret remove HF_TOKEN
    """
    try:
        found = remove_secret(state_folder().secrets_path, name)
    except StateError as error:
        sys.exit(could_not(error, as_json=False))
    if not found:
        sys.exit(could_not(StateError(f"there is no secret {name}", "see them: alula jobs secret list"), as_json=False))
    click.echo(f"{name} is forgotten")
