"""`alula probe`: a few prompts to a running server, and what speculation gave for them."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from engine.check.probe import Probe, Request
    from engine.check.report.result import Checked

EPILOG = """\b
Examples:
  alula probe http://127.0.0.1:30000
  alula probe --json --prompts 8 127.0.0.1:30000

Exit status: 0 answered and nothing wrong found, 1 an error found, 2 no answer."""


@click.command(epilog=EPILOG)
@click.argument("url", metavar="URL")
@click.option("--prompts", default=4, show_default=True, type=click.IntRange(1, 64), help="How many prompts to ask.")
@click.option("--max-tokens", default=64, show_default=True, type=click.IntRange(1, 4096), help="Tokens an answer.")
@click.option("--api-key-env", metavar="NAME", help="Environment variable that holds the server's API key.")
@click.option("--json", "as_json", is_flag=True, help="Report as JSON.")
@click.pass_context
def probe(
    context: click.Context, url: str, prompts: int, max_tokens: int, api_key_env: str | None, as_json: bool
) -> None:
    """Ask a running SGLang server a few short prompts and measure accept length and speed.

    The prompts are asked one after another, so the speed is that of a single request. Where the server was started with
    --enable-return-hidden-states, the width of its hidden states is measured too.
    """
    from console.command_line.api_key import api_key
    from engine.check.deployment import assemble
    from engine.check.probe import probe as ask
    from engine.check.report.result import check_deployment

    result, live = ask(url, prompts, max_tokens, api_key(api_key_env))
    checked = check_deployment(assemble(None, live=live)) if result.problem is None else None
    if as_json:
        _print_json(result, checked)
    elif result.problem is not None:
        click.echo(f"alula probe: {_plain(result.problem)}", err=True)
        click.echo("Give the address of a running SGLang server, for example http://127.0.0.1:30000.", err=True)
    else:
        for text in _lines(result, checked):
            click.echo(text)
    context.exit(2 if checked is None else 1 if checked.count("error") else 0)


def _print_json(result: "Probe", checked: "Checked | None") -> None:
    import msgspec

    from engine.check.report.json_report import finding_object

    findings = [finding_object(finding, 0) for finding in checked.findings] if checked is not None else []
    report = {**msgspec.to_builtins(result), "findings": findings}
    click.echo(msgspec.json.format(msgspec.json.encode(report), indent=2))


def _lines(result: "Probe", checked: "Checked | None") -> Iterator[str]:
    from widgets.figures import fixed, rate

    algorithm = _plain(result.algorithm or "no speculation")
    yield f"{_plain(result.url)}  SGLang {_plain(result.release or '–')}, {algorithm}"
    yield ""
    yield f"{'tokens':>7} {'verified':>9} {'accept':>7} {'tok/s':>8}  prompt"
    yield from (_row(request) for request in result.requests)
    yield ""
    yield f"accept length  {fixed(result.accept_length, 2)}"
    yield f"speed          {rate(result.tokens_per_s)}"
    yield f"hidden width   {_width(result)}"
    if checked is not None:
        for finding in checked.findings:
            if finding.severity != "info":
                yield f"{finding.severity}: {_plain(finding.rule)}: {_plain(finding.title)}"


def _row(request: "Request") -> str:
    from widgets.figures import fixed

    if request.problem is not None:
        return f"{'–':>7} {'–':>9} {'–':>7} {'–':>8}  {_plain(request.problem)[:44]}"
    tokens, verified = (str(n) if n is not None else "–" for n in (request.completion_tokens, request.verifications))
    length, speed = fixed(request.accept_length, 2), fixed(request.tokens_per_s, 1)
    return f"{tokens:>7} {verified:>9} {length:>7} {speed:>8}  {request.prompt[:44]}"


def _width(result: "Probe") -> str:
    if result.hidden_width is None:
        return f"–  ({_plain(result.hidden_note or 'not measured')})"
    expected = " or ".join(str(width) for width in result.expected_hidden_widths)
    return f"{result.hidden_width}, expected {expected or '–'}"


def _plain(text: str) -> str:
    from state.outside_text import plain_line

    return plain_line(text, 300)
