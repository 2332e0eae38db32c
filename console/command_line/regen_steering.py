"""`alula regen servers` and `alula regen tune`: change a run while it works."""

import sys
from typing import Any, Literal

import click

from console.command_line.live_view import ask, show, table
from console.command_line.regen_runs import leave
from console.command_line.regen_views import look_at_servers

_json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
THRESHOLD = "KIND=SHARE"


@click.command()
@click.argument("run")
@click.argument("action", required=False, type=click.Choice(["add", "remove"]))
@click.argument("url", required=False)
@click.option("--weight", default=1.0, show_default=True, help="Requests for it beside a server of weight 1.")
@click.option("--watch", is_flag=True, help="Print anew each second until Ctrl-C.")
@_json_option
def servers(
    run: str, action: Literal["add", "remove"] | None, url: str | None, weight: float, watch: bool, as_json: bool
) -> None:
    """The servers of RUN, with what each is given and why; add or remove one while the run works.

    A server that is removed is asked nothing more; what it works on may end.

    Example: alula regen servers humaneval add http://127.0.0.1:30001 --weight 2
    """
    if action is None:
        sys.exit(show(lambda database: look_at_servers(database, run), as_json=as_json, watch=watch))
    if not url:
        leave(f"{action} needs the URL of a server\nalula regen servers {run} {action} http://HOST:PORT", as_json)
    change: dict[str, Any] = {"add": {"url": url, "weight": weight}} if action == "add" else {"remove": url}
    sys.exit(ask("regen.steer", {"name": run, **change}, as_json=as_json, said=_said))


@click.command()
@click.argument("run")
@click.option("--concurrency", help="Requests at once on all servers together, or auto.")
@click.option("--pause-at", multiple=True, metavar=THRESHOLD, help="Pause above this share of a flaw; off is never.")
@_json_option
def tune(run: str, concurrency: str | None, pause_at: tuple[str, ...], as_json: bool) -> None:
    """Change RUN's concurrency or thresholds while it works.

    Example: alula regen tune humaneval --concurrency 128 --pause-at refusal=0.5
    """
    change: dict[str, Any] = {"name": run, "pause_at": thresholds(pause_at, as_json)}
    if concurrency is not None:
        change["concurrency"] = concurrency_of(concurrency, as_json) or "auto"
    sys.exit(ask("regen.steer", change, as_json=as_json, said=_said))


def concurrency_of(text: str, as_json: bool) -> int:
    """The number of requests at once; 0 for auto."""
    if text == "auto":
        return 0
    if not text.isdecimal() or not 1 <= int(text) <= 4096:
        leave(f"a concurrency of {text!r}\ngive 1 to 4096, or auto", as_json)
    return int(text)


def thresholds(given: tuple[str, ...], as_json: bool) -> dict[str, float]:
    """Flaw to share, from words like `refusal=0.5` or `echo=off`."""
    from engine.regen.steering import PAUSE_AT

    found: dict[str, float] = {}
    for text in given:
        kind, _, share = text.partition("=")
        try:
            value = 1.0 if share == "off" else float(share)
        except ValueError:
            value = -1.0
        if kind not in PAUSE_AT or not 0 <= value <= 1:
            leave(f"{text!r} is no threshold\ngive one of {', '.join(PAUSE_AT)} with a share, as refusal=0.5", as_json)
        found[kind] = value
    return found


def _said(answer: dict[str, Any]) -> str:
    rows = [[entry["url"], f"{entry.get('weight', 1.0):g}"] for entry in answer["servers"]]
    at_once = answer["concurrency"] or "found by trying"
    pause_at = ", ".join(f"{kind} {share * 100:.0f} %" for kind, share in answer["pause_at"].items())
    return "\n".join([*table(["SERVER", "WEIGHT"], rows), f"at once  {at_once}", f"pauses   above {pause_at}"])
