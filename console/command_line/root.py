"""The `alula` command: a table of subcommands, each imported only when it is called."""

import importlib

import click

from state.version import VERSION

SUBCOMMANDS: dict[str, tuple[str, str]] = {
    "alerts": ("console.command_line.alerts:alerts", "What is wrong on this host, since when, and what to do."),
    "bench": ("console.command_line.bench:bench", "Is it faster, by how much, and what would break even."),
    "campaign": ("console.command_line.campaign:campaign", "From prompts to a measured speed-up, step by step."),
    "check": ("console.command_line.check:check", "Check a speculative deployment before a launch, or one that runs."),
    "data": ("console.command_line.data:data", "Find training prompts, mix them, keep them clean."),
    "db": ("console.command_line.db:db", "Back up, check and prune the state database."),
    "demo": ("console.command_line.demo:demo", "A small campaign on this machine's CPU, in minutes."),
    "doctor": ("console.command_line.doctor:doctor", "What on this machine could keep Alula from working."),
    "engine": ("console.command_line.engine:engine", "The background process: run, start, stop, status, install."),
    "gpus": ("console.command_line.gpus:gpus", "GPUs, one row each."),
    "jobs": ("console.command_line.jobs:jobs", "List, show, launch, stop and retry background jobs."),
    "probe": ("console.command_line.probe:probe", "Ask a running server a few prompts and measure accept length."),
    "reference": (
        "console.command_line.reference:reference",
        "The small stand-in model server for machines with no GPU.",
    ),
    "regen": ("console.command_line.regen:regen", "Have the target model answer prompts again."),
    "schema": ("console.command_line.schema:schema", "The JSON Schema of what a command prints with --json."),
    "servers": ("console.command_line.servers:servers", "Inference servers, one row each."),
    "status": ("console.command_line.status:status", "The host in a few lines."),
    "train": ("console.command_line.train:train", "Draft configurations and training."),
}
"""Name to (module:attribute, one line of help). The help stands here so that `alula --help` imports nothing."""


class LazyGroup(click.Group):
    """A group that knows its subcommands' names and help without importing them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names in alphabetical order."""
        return sorted(SUBCOMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return one subcommand; `None` for a name that is unknown."""
        if cmd_name not in SUBCOMMANDS:
            return None
        module, _, attribute = SUBCOMMANDS[cmd_name][0].partition(":")
        command = getattr(importlib.import_module(module), attribute)
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the table of subcommands from the static help."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, SUBCOMMANDS[name][1]) for name in self.list_commands(ctx)])


@click.group(cls=LazyGroup, invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(VERSION, message="alula %(version)s")
@click.option("--plain", is_flag=True, help="No screen: lines, then those that change, for screen readers.")
@click.pass_context
def alula(context: click.Context, plain: bool) -> None:
    """Operations console for speculative decoding on SGLang.

    Without a command: open the console, and start the engine if none runs.
    """
    if context.invoked_subcommand is not None:
        return
    if plain:
        from console.command_line.status import watch_plain

        context.exit(watch_plain())
    from console.app import run

    run()
