"""What a regeneration can be asked to do, from the list and from its own screen."""

from typing import TYPE_CHECKING, Any

from console.screens.ask_first import ask_first
from state.outside_text import plain_line
from state.records.views import RegenerationRow
from widgets import figures

if TYPE_CHECKING:
    from console.app import Console


def pause_run(console: "Console", row: RegenerationRow | None) -> None:
    """Say what pausing means, ask once, and pause."""
    if row is None:
        return
    if row.run.state != "running":
        console.notify(f"{row.run.name} is {row.run.state}", markup=False)
        return
    in_flight = figures.count(row.progress.in_flight if row.progress else 0)
    consequences = [
        "What is answered is kept.",
        f"{in_flight} answers in flight are given up and asked again later.",
        "It waits until it is resumed: press r.",
    ]

    def pause() -> None:
        console.ask("regen.pause", {"name": row.run.name}, f"{row.run.name} is being paused")

    ask_first(console, f"Pause {row.run.name}?", consequences, pause, confirm="Pause")


def resume_run(console: "Console", row: RegenerationRow | None) -> None:
    """Go on with a run."""
    if row is not None:
        console.ask("regen.resume", {"name": row.run.name}, f"{row.run.name} goes on")


def retry_failed(console: "Console", row: RegenerationRow | None) -> None:
    """Let the kind of failure be chosen, all of them first, and ask such samples again."""
    if row is None:
        return
    kinds = sorted(row.progress.failed_by_kind.items(), key=lambda item: -item[1]) if row.progress else []
    if not kinds:
        console.notify(f"no sample of {row.run.name} has failed", markup=False)
        return
    if row.run.state == "running":
        console.notify(f"{row.run.name} is at work: failed samples can be asked again once it is paused (x)")
        return
    from console.screens.one_of import OneOf

    choices = [f"all  {figures.count(sum(count for _, count in kinds))}"]
    choices += [plain_line(f"{kind}  {figures.count(count)}", 80) for kind, count in kinds]

    def chosen(place: int | None) -> None:
        if place is None:
            return
        kind = kinds[place - 1][0] if place else None
        said = f"failed samples of {row.run.name} are asked again"
        console.ask("regen.retry", {"name": row.run.name, "kind": kind}, said)

    question = f"Ask which failed samples of {row.run.name} again? What is answered stays."
    console.push_screen(OneOf(question, choices), chosen)


def set_concurrency(console: "Console", row: RegenerationRow) -> None:
    """Ask for another number of requests at once, and have the worker follow it."""
    from console.screens.text_question import TextQuestion

    def given(text: str | None) -> None:
        if not text:
            return
        if text != "auto" and not (text.isdecimal() and 1 <= int(text) <= 4096):
            console.notify(f"{text} at once: give 1 to 4096, or auto", severity="error", markup=False)
            return
        _steer(console, row, {"concurrency": text if text == "auto" else int(text)}, f"{text} at once")

    now = str(row.detail.concurrency) if row.detail and row.detail.concurrency else ""
    console.push_screen(TextQuestion("Requests at once on all servers together, or auto: found by trying", now), given)


def add_server(console: "Console", row: RegenerationRow) -> None:
    """Ask for a server's URL and weight."""
    from console.screens.text_question import TextQuestion

    def given(text: str | None) -> None:
        if not text:
            return
        url, _, weight = text.partition(",")
        try:
            entry = {"url": url.strip(), "weight": float(weight or 1)}
        except ValueError:
            console.notify(f"{text}: give URL or URL,WEIGHT", severity="error", markup=False)
            return
        _steer(console, row, {"add": entry}, f"{entry['url']} is asked too")

    console.push_screen(TextQuestion("Ask another server, or change its weight: URL or URL,WEIGHT"), given)


def remove_server(console: "Console", row: RegenerationRow) -> None:
    """Let the server be chosen that is asked nothing more."""
    from console.screens.one_of import OneOf

    servers = [one for one in row.detail.servers if one.state != "leaving"] if row.detail else []
    if not servers:
        console.notify(f"no worker of {row.run.name} has told of its servers yet", markup=False)
        return

    def chosen(place: int | None) -> None:
        if place is not None:
            url = servers[place].url
            _steer(console, row, {"remove": url}, f"{url} is asked nothing more")

    question = "Ask which server nothing more? What it works on may end."
    console.push_screen(OneOf(question, [f"{one.url}  {one.in_flight} in flight" for one in servers]), chosen)


def _steer(console: "Console", row: RegenerationRow, change: dict[str, Any], done: str) -> None:
    console.ask("regen.steer", {"name": row.run.name, **change}, f"{row.run.name}: {done}")
