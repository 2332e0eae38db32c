"""What a campaign can be asked to do."""

import subprocess
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING

from state.outside_text import plain_line
from state.records.campaigns import CampaignView

if TYPE_CHECKING:
    from console.app import Console


def stop_campaign(console: "Console", view: CampaignView) -> None:
    """Say what stopping means, ask once, and stop."""
    from widgets.confirmation import Confirmation

    campaign = view.campaign
    if campaign.state != "running":
        console.notify(f"{campaign.name} is {campaign.state}", markup=False)
        return
    consequences = [
        "The step that runs is stopped politely; what it has is kept.",
        "A server that the campaign has started is stopped.",
        "It goes on from there: press r.",
    ]

    def answered(confirmed: bool | None) -> None:
        if confirmed:
            console.ask("campaign.stop", {"name": str(campaign.name)}, f"{campaign.name} is being stopped")

    console.push_screen(Confirmation(f"Stop {campaign.name}?", consequences, confirm="Stop", refuse="Go on"), answered)


def resume_campaign(console: "Console", view: CampaignView, *, single_step: bool) -> None:
    """Go on, to the end or for one step."""
    name = view.campaign.name
    done = f"{name}: one step, then it stands still" if single_step else f"{name} goes on"
    console.ask("campaign.resume", {"name": name, "single_step": single_step}, done)


def choose_campaign(console: "Console") -> None:
    """Choose a file, say what its campaign will do, ask once, and start it."""
    from console.screens.file_choice import FileChoice

    def chosen(path: Path | None) -> None:
        if path is not None:
            _propose(console, path)

    console.push_screen(FileChoice(Path.cwd()), chosen)


def _propose(console: "Console", path: Path) -> None:
    from engine.campaign.reading import read_specification, stored
    from engine.campaign.specification import CampaignError
    from engine.campaign.steps import steps_of
    from widgets.confirmation import Confirmation

    try:
        wanted = read_specification(path)
    except CampaignError as error:
        console.notify(plain_line(f"{error}. {error.remedy}", 400), severity="error", timeout=10, markup=False)
        return
    consequences = [
        f"Steps: {', '.join(step.name for step in steps_of(wanted))}.",
        "The engine carries it on by itself, and stops where a check or a guard fails.",
    ]

    def answered(confirmed: bool | None) -> None:
        if confirmed:
            arguments = {"specification": stored(wanted), "single_step": False}
            console.ask("campaign.start", arguments, f"{wanted.name} has started")

    question = f"Start the campaign {wanted.name}?"
    console.push_screen(Confirmation(question, consequences, confirm="Start", refuse="Not now"), answered)


def write_document(console: "Console", view: CampaignView) -> None:
    """Write the training plan, by the same command that an operator types."""
    import os

    words = [sys.executable, "-m", "console", "campaign", "document", view.campaign.name]
    environment = {**os.environ, "ALULA_HOME": str(console.folder.path)}

    def writing() -> None:
        done = subprocess.run(
            words, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
        )
        said = f"written: {done.stdout.strip()}" if done.returncode == 0 else done.stderr.strip()[:300]
        console.post_message(console.Said(said, error=done.returncode != 0))

    threading.Thread(target=writing, name="campaign-document", daemon=True).start()
