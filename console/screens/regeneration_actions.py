"""What a regeneration can be asked to do, from the list and from its own screen."""

from typing import TYPE_CHECKING

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
    from widgets.confirmation import Confirmation

    in_flight = figures.count(row.progress.in_flight if row.progress else 0)
    consequences = [
        "What is answered is kept.",
        f"{in_flight} answers in flight are given up and asked again later.",
        "It waits until it is resumed: press r.",
    ]

    def answered(confirmed: bool | None) -> None:
        if confirmed:
            console.ask("regen.pause", {"name": str(row.run.id)}, f"{row.run.name} is being paused")

    console.push_screen(Confirmation(f"Pause {row.run.name}?", consequences, confirm="Pause", refuse="Go on"), answered)


def resume_run(console: "Console", row: RegenerationRow | None) -> None:
    """Go on with a run."""
    if row is not None:
        console.ask("regen.resume", {"name": str(row.run.id)}, f"{row.run.name} goes on")


def retry_failed(console: "Console", row: RegenerationRow | None) -> None:
    """Ask failed samples again."""
    if row is not None:
        console.ask(
            "regen.retry", {"name": str(row.run.id), "kind": None}, f"failed samples of {row.run.name} are asked again"
        )
