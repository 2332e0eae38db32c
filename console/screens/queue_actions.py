"""What the queue as a whole can be asked to do."""

import getpass
from typing import TYPE_CHECKING

from console.screens.ask_first import ask_first
from state.outside_text import plain_line
from state.records.views import QueueView

if TYPE_CHECKING:
    from console.app import Console

NAMED = 5


def pause_or_resume(console: "Console") -> None:
    """Pause the queue, or end its pause."""
    if _queue(console).paused_at is None:
        console.ask("jobs.pause", {"by": getpass.getuser()}, "no more jobs start; P lets them start again")
    else:
        console.ask("jobs.resume", {}, "queued jobs start again")


def drain(console: "Console") -> None:
    """Say what still runs, ask once, and pause; the line above the table says when nothing runs any more."""
    running = [job for job in console.records.get("jobs", ()) if job.state in ("starting", "running", "stopping")]
    names = [plain_line(f"job {job.id} {job.name}", 60) for job in running[:NAMED]]
    if len(running) > NAMED:
        names.append(f"and {len(running) - NAMED} more")
    consequences = [
        f"No job starts any more; {_queue(console).waiting} wait.",
        f"It waits for: {', '.join(names)}." if names else "No job runs now.",
        "Nothing is stopped. The line above the table says when nothing runs; P lets jobs start again.",
    ]

    def pause() -> None:
        console.ask("jobs.pause", {"by": getpass.getuser()}, "the queue drains")

    ask_first(console, "Drain the queue?", consequences, pause, confirm="Drain", refuse="Cancel")


def _queue(console: "Console") -> QueueView:
    found: QueueView = console.records.get("queue", QueueView(running=0, waiting=0))
    return found
