"""`alula jobs launch`: a recipe with its values, or any program."""

import os
import shutil
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import click

from console.command_line.live_view import ask, could_not, to_json
from state.errors import StateError

COMMAND_KEY = "console.command_line.job_launch.command"
SAID = "job {job_id} is queued; its log: alula jobs logs -f {job_id}"
_INHERITED = ("PATH", "VIRTUAL_ENV", "CONDA_PREFIX", "CUDA_VISIBLE_DEVICES", "CUDA_HOME", "HF_HOME", "LD_LIBRARY_PATH")
"""Variables of the shell that a job keeps; the rest it has from the engine. They are stored, so no secrets here."""


class CommandAfterDashes(click.Command):
    """Keeps the words behind `--` apart: they are a program and its arguments."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Take the program off before click sees it."""
        if "--" in args:
            at = args.index("--")
            ctx.meta[COMMAND_KEY] = tuple(args[at + 1 :])
            args = args[:at]
        return super().parse_args(ctx, args)


@click.command(cls=CommandAfterDashes)
@click.argument("words", nargs=-1, metavar="RECIPE [KEY=VALUE]... | -- PROGRAM [ARGUMENT]...")
@click.option("--name", default="", help="What to call it; the recipe's or program's name if it is not given.")
@click.option("--kind", default="command", show_default=True, help="Of a program: command, serve, train, ...")
@click.option("--directory", type=click.Path(exists=True, file_okay=False, path_type=Path), help="Where it runs.")
@click.option("--env", "variables", multiple=True, metavar="NAME=VALUE", help="A variable; stored, so no secrets.")
@click.option("--secret", "secrets", multiple=True, metavar="NAME",
              help="A variable whose value is kept by `alula jobs secret set NAME`.")  # fmt: skip
@click.option("--grace", "grace_s", type=click.FloatRange(0), help="Seconds between SIGTERM and SIGKILL at a stop.")
@click.option("--gpus", default="", metavar="N|I,J", help="How many, or (with a comma: 0,) which ones by index.")
@click.option("--priority", default=0, show_default=True, help="Higher ones start first.")
@click.option("--after", multiple=True, type=int, metavar="ID", help="Start when this job has ended.")
@click.option("--after-ok", multiple=True, type=int, metavar="ID", help="Start when this job has ended well.")
@click.option("--time-limit", default="", metavar="TIME", help="Stop it after 12h, 90min, 30s.")
@click.option("--retries", type=click.IntRange(0, 100), help="Try again so often after an end that may pass.")
@click.option("--restart", type=click.Choice(["never", "on-failure", "always"]), help="Keep a server alive.")
@click.option("--on", default="local", show_default=True, metavar="BACKEND", help="local, slurm, ray://HOST:PORT.")
@click.option("--override", "overridden", multiple=True, metavar="RULE", help="Launch in spite of this error.")
@click.option("--dry-run", is_flag=True, help="Show what would be launched and what stands against it.")
@click.option("--save-as", default="", metavar="NAME", help="Keep these values as a recipe of your own.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.pass_context
def launch(context: click.Context, /, words: tuple[str, ...], as_json: bool, **options: Any) -> None:
    """Run a recipe, or any program, in the background. Nothing is given to a shell; name one to have one.

    A recipe's values are words like model=/models/kimi; `alula jobs recipes RECIPE` explains them. What can be known to
    go wrong is said before the launch: exit code 1, until the error is mended or overridden by its rule's name.
    A program keeps PATH, VIRTUAL_ENV and the like of this shell, and has the rest from the engine.

    \b
    Example: alula jobs launch sglang-eagle3 model=/models/target draft=/models/draft tp=8 --dry-run
    Example: alula jobs launch --name count -- sh -c 'for i in 1 2 3; do echo $i; sleep 1; done'
    """
    program = context.meta.get(COMMAND_KEY)
    if program and words:
        raise click.UsageError("give a recipe with its values, or -- and a program, not both.")
    if program:
        _launch_program(program, options, as_json)
    if not words:
        raise click.UsageError("give a recipe (see them: alula jobs recipes), or -- and a program.")
    from console.command_line.job_recipe_launch import launch_recipe

    launch_recipe(words[0], words[1:], options, as_json)


def wishes_of(options: dict[str, Any], as_json: bool) -> Any:
    """What the options ask of the queue."""
    from engine.jobs.recipes.amounts import gpus_of, seconds_of
    from engine.jobs.recipes.command import Wishes

    try:
        limit_s = seconds_of(options["time_limit"]) if options["time_limit"] else None
        count, choice = gpus_of(options["gpus"])
    except ValueError as error:
        sys.exit(could_not(StateError(str(error), "see: alula jobs launch --help"), as_json=as_json))
    return Wishes(
        name=options["name"], priority=options["priority"], after=options["after"], after_ok=options["after_ok"],
        gpus=count, gpu_choice=choice, time_limit_s=limit_s, retries=options["retries"], restart=options["restart"],
        secrets=options["secrets"], on=options["on"],
    )  # fmt: skip


def variables_of(texts: tuple[str, ...]) -> dict[str, str]:
    """Variables given as NAME=VALUE."""
    if bad := [text for text in texts if "=" not in text]:
        raise click.BadParameter(f"{bad[0]!r} is not NAME=VALUE", param_hint="--env")
    return dict(text.split("=", 1) for text in texts)


def _launch_program(program: tuple[str, ...], options: dict[str, Any], as_json: bool) -> None:
    import msgspec

    from engine.jobs.recipes.command import schedule_of
    from engine.jobs.recipes.records import Recipe
    from state.secret_words import shown_argv, shown_environment

    kept = {name: os.environ[name] for name in _INHERITED if name in os.environ}
    schedule = schedule_of(Recipe(name="command"), {}, wishes_of(options, as_json))
    arguments: dict[str, Any] = {
        "argv": [_found(program[0], options["on"]), *program[1:]],
        "name": options["name"] or Path(program[0]).name,
        "kind": options["kind"],
        "working_dir": str((options["directory"] or Path.cwd()).absolute()),
        "environment": kept | variables_of(options["variables"]),
        "grace_s": 10.0 if options["grace_s"] is None else options["grace_s"],
        "schedule": msgspec.to_builtins(schedule),
        **({} if options["on"] == "local" else {"on": options["on"]}),
    }
    shown = {
        **arguments,
        "argv": shown_argv(arguments["argv"]),
        "environment": shown_environment(arguments["environment"]),
    }
    if options["dry_run"]:
        click.echo(to_json(shown))
        sys.exit(0)
    if shown["argv"] != tuple(arguments["argv"]):
        click.echo(
            "alula: the command holds a secret: commands are stored, and seen by every user of this host\n"
            "give it as a variable: alula jobs secret set NAME; alula jobs launch --secret NAME",
            err=True,
        )
    sys.exit(ask("jobs.launch", arguments, as_json=as_json, said=lambda answer: SAID.format(**answer)))


def _found(program: str, on: str) -> str:
    """Its full path, as this shell finds it; the nodes of a Ray cluster find it themselves."""
    return program if on.startswith("ray") else shutil.which(program) or program


def opened_database(as_json: bool) -> Any:
    """The state database, to be closed by the caller."""
    from state.database import open_database
    from state.folder import state_folder

    try:
        return closing(open_database(state_folder().database_path))
    except StateError as error:
        sys.exit(could_not(error, as_json=as_json))
