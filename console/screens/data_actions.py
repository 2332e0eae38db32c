"""What searches and preparations can be asked to do, from the list and from their own screens."""

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

from console.screens.ask_first import ask_first
from state.outside_text import plain_line
from state.records.data import DataPreparation, DataWork, SearchRow
from widgets.data.columns import kind_of, name_of, state_of

if TYPE_CHECKING:
    from console.app import Console

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,59}")


def new_search(console: "Console") -> None:
    """Ask for a name, say what will be asked of whom, and send the scouts out."""
    from console.screens.text_question import TextQuestion

    def named(name: str | None) -> None:
        if not name:
            return
        if not _NAME.fullmatch(name):
            console.notify("letters, digits, dot, dash and underscore, 60 at most", severity="error", markup=False)
            return
        start_search(console, name)

    console.push_screen(TextQuestion("Name of the search; ten scouts ask the Hugging Face hub", "campaign"), named)


def start_search(console: "Console", name: str) -> None:
    """Begin a search with all scouts, or go on with a stopped one of that name."""
    import msgspec

    from engine.data.discovery.scouts import built_in_scouts
    from engine.data.discovery.search import SearchRequest

    request = SearchRequest(name=name, scouts=built_in_scouts())
    console.ask("data.search", {"request": msgspec.to_builtins(request)}, f"the scouts of {name} are on their way")


def go_on(console: "Console", work: DataWork | None) -> None:
    """Go on with what was stopped or has failed; what it made is kept."""
    if work is None:
        return
    if state_of(work) in ("running", "done"):
        console.notify(f"{name_of(work)} is {state_of(work)}", markup=False)
        return
    if isinstance(work, DataPreparation):
        prepare(console, Path(work.plan_path), Path(work.output_folder), work.name)
        return
    import msgspec

    from engine.data.discovery.beginning import SearchError, kept_request

    try:
        request = kept_request(Path(work.search.run_folder))
    except SearchError as error:
        console.notify(plain_line(f"{error}. {error.remedy}", 400), severity="error", markup=False)
        return
    console.ask("data.search", {"request": msgspec.to_builtins(request)}, f"{name_of(work)} goes on")


def prepare(console: "Console", plan: Path, output: Path, name: str) -> None:
    """Have the engine run a plan."""
    workers = len(os.sched_getaffinity(0))
    arguments = {"plan_path": str(plan), "output_folder": str(output), "workers": workers}
    console.ask("data.prepare", arguments, plain_line(f"{name} is being prepared in {output}", 200))


def stop_work(console: "Console", work: DataWork | None) -> None:
    """Say what stopping means, ask once, and stop the job."""
    if work is None:
        return
    job_id = work.job_id
    if state_of(work) != "running" or job_id is None:
        where = "in a terminal of its own: stop it there" if state_of(work) == "running" else state_of(work)
        console.notify(f"{name_of(work)} is {where}", markup=False)
        return
    kept = "Answers of the hub" if isinstance(work, SearchRow) else "Parts that are done"
    consequences = [f"Job {job_id} gets SIGTERM.", f"{kept} are kept.", "Press r to go on from there."]

    def stop() -> None:
        console.ask("jobs.stop", {"job_id": job_id}, f"{name_of(work)} is being stopped")

    ask_first(console, f"Stop the {kind_of(work)} {name_of(work)}?", consequences, stop, confirm="Stop")
