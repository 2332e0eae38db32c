"""`alula check`: whether a speculative deployment fits together, before a launch and while it runs."""

from typing import TYPE_CHECKING

import click

from engine.check.report.result import Outcome, Unchecked

if TYPE_CHECKING:
    from engine.check.collect import Collection

EPILOG = """\b
Examples:
  alula check launch.sh
  alula check -- python3 -m sglang.launch_server --model-path /models/target ...
  alula check --server http://127.0.0.1:30000 launch.sh
  alula check --running
  alula check --train run.yaml launch.sh
  alula check --fix launch.sh | patch -p0

Exit status: 0 no error found, 1 errors found, 2 something could not be checked."""


COMMAND_KEY = "console.command_line.check.command"


class CommandAfterDashes(click.Command):
    """Keeps the words behind `--` apart: they are a command, not files."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Take the command off before click sees it."""
        if "--" in args:
            at = args.index("--")
            ctx.meta[COMMAND_KEY] = tuple(args[at + 1 :])
            args = args[:at]
        return super().parse_args(ctx, args)


def _release(_context: click.Context, _parameter: click.Parameter, value: str | None) -> str | None:
    from engine.check.flags.release import VERSION

    text = (value or "").removeprefix("v")
    found = VERSION.match(text)
    if value is not None and (found is None or text[found.end() :][:1] not in ("", ".", "+", "-")):
        raise click.BadParameter(f"{value!r} is no release; give it like 0.5.23.")
    return value


@click.command(cls=CommandAfterDashes, epilog=EPILOG)
@click.argument("sources", nargs=-1, metavar="[FILE|-]... [-- COMMAND...]")
@click.option("--server", "servers", metavar="URL", multiple=True, help="Also ask a running server.")
@click.option("--pid", "pids", metavar="PID", multiple=True, type=click.IntRange(min=1), help="Check a process.")
@click.option("--running", is_flag=True, help="Check every server that runs on this host.")
@click.option("--train", metavar="FILE", help="Also check a training recipe (SpecForge's run.yaml) against it.")
@click.option(
    "--break-even", metavar="LENGTH", type=float, help="Accept length from which speculation pays, by a benchmark."
)
@click.option(
    "--sglang-version",
    metavar="VERSION",
    callback=_release,
    help="The SGLang release that will run: 0.5.23.",
)
@click.option("--api-key-env", metavar="NAME", help="Environment variable that holds the servers' API key.")
@click.option("--json", "as_json", is_flag=True, help="Report as JSON.")
@click.option("--sarif", is_flag=True, help="Report as SARIF 2.1.0.")
@click.option("--fix", is_flag=True, help="Print the corrected command as a unified diff; nothing is changed or run.")
@click.option("--list-rules", is_flag=True, help="List every rule.")
@click.option("--explain", metavar="RULE", help="Explain one rule.")
@click.pass_context
def check(
    context: click.Context,
    sources: tuple[str, ...],
    servers: tuple[str, ...],
    pids: tuple[int, ...],
    running: bool,
    train: str | None,
    break_even: float | None,
    sglang_version: str | None,
    api_key_env: str | None,
    as_json: bool,
    sarif: bool,
    fix: bool,
    list_rules: bool,
    explain: str | None,
) -> None:
    """Say whether flags, layer capture, widths, vocabularies and weights fit together, and how to mend what does not.

    FILE is a shell script, a systemd unit, a compose file or Kubernetes manifest, a --config YAML, or a server's log.
    Nothing is executed and no weights are loaded.
    """
    if list_rules or explain is not None:
        from console.command_line.check_rules import print_rules

        context.exit(print_rules(explain, as_json))
    if sum((as_json, sarif, fix)) > 1:
        raise click.UsageError("--json, --sarif and --fix exclude one another.")
    files, command = sources, context.meta.get(COMMAND_KEY, ())
    if not (files or command or servers or pids or running):
        raise click.UsageError("nothing to check: give a FILE, a command after --, --server, --pid or --running.")
    from console.command_line.api_key import api_key
    from engine.check.collect import Collection

    collection = Collection(sglang_version, break_even, api_key(api_key_env))
    if train is not None:
        collection.add_training(train)
    outcome = _run(collection, files, command, servers, pids, running)
    _print(outcome, as_json, sarif, fix)
    context.exit(outcome.exit_code)


def _run(
    collection: "Collection",
    files: tuple[str, ...],
    command: tuple[str, ...],
    servers: tuple[str, ...],
    pids: tuple[int, ...],
    running: bool,
) -> Outcome:
    for file in files:
        collection.add_file(file)
    if command:
        collection.add_command(command)
    for pid in pids:
        collection.add_process(pid)
    if running:
        collection.add_running()
    for server in servers:
        collection.add_server(server)
    return collection.outcome()


def _print(outcome: Outcome, as_json: bool, sarif: bool, fix: bool) -> None:
    if as_json:
        from engine.check.report.json_report import json_report

        click.echo(json_report(outcome), nl=False)
        return
    if sarif:
        from engine.check.report.sarif import sarif_report

        click.echo(sarif_report(outcome), nl=False)
        return
    for unchecked in outcome.unchecked:
        _complain(unchecked)
    if fix:
        from engine.check.report.fix_diff import fix_diffs

        click.echo(fix_diffs(outcome.checked), nl=False)
        return
    from console.command_line.styled import echo_lines
    from engine.check.report.text_report import text_report

    for one in outcome.checked:
        echo_lines(text_report(one))


def _complain(unchecked: Unchecked) -> None:
    from state.outside_text import plain_line

    place = ":".join(str(part) for part in (unchecked.source, unchecked.line, unchecked.column) if part is not None)
    click.echo(f"alula check: {plain_line(place)}: {plain_line(unchecked.message)}", err=True)
    if unchecked.remedy:
        click.echo(plain_line(unchecked.remedy), err=True)
