"""What a campaign can be asked to do."""

from pathlib import Path
from typing import TYPE_CHECKING

from console.screens.alula_command import run_alula
from console.screens.ask_first import ask_first
from state.outside_text import plain_line
from state.records.campaigns import CampaignView

if TYPE_CHECKING:
    from console.app import Console


def stop_campaign(console: "Console", view: CampaignView) -> None:
    """Say what stopping means, ask once, and stop."""
    campaign = view.campaign
    if campaign.state != "running":
        console.notify(f"{campaign.name} is {campaign.state}", markup=False)
        return
    consequences = [
        "The step that runs is stopped politely; what it has is kept.",
        "A server that the campaign has started is stopped.",
        "It goes on from there: press r.",
    ]

    def stop() -> None:
        console.ask("campaign.stop", {"name": str(campaign.name)}, f"{campaign.name} is being stopped")

    ask_first(console, f"Stop {campaign.name}?", consequences, stop, confirm="Stop")


def resume_campaign(console: "Console", view: CampaignView, *, single_step: bool) -> None:
    """Go on, to the end or for one step."""
    name = view.campaign.name
    done = f"{name}: one step, then it stands still" if single_step else f"{name} goes on"
    console.ask("campaign.resume", {"name": name, "single_step": single_step}, done)


def choose_campaign(console: "Console") -> None:
    """Choose a file, say what its campaign will do, ask once, and start it."""
    from console.screens.file_choice import choose_path

    choose_path(console, lambda path: _propose(console, path))


def _propose(console: "Console", path: Path) -> None:
    from engine.campaign.reading import read_specification, stored
    from engine.campaign.specification import CampaignError
    from engine.campaign.steps import steps_of

    try:
        wanted = read_specification(path)
    except CampaignError as error:
        console.notify(plain_line(f"{error}. {error.remedy}", 400), severity="error", timeout=10, markup=False)
        return
    consequences = [
        f"Steps: {', '.join(step.name for step in steps_of(wanted))}.",
        "The engine carries it on by itself, and stops where a check or a guard fails.",
    ]

    def start() -> None:
        arguments = {"specification": stored(wanted), "single_step": False}
        console.ask("campaign.start", arguments, f"{wanted.name} has started")

    question = f"Start the campaign {wanted.name}?"
    ask_first(console, question, consequences, start, confirm="Start", refuse="Not now")


def write_document(console: "Console", view: CampaignView) -> None:
    """Write the training plan, by the same command that an operator types."""
    run_alula(console, ["campaign", "document", view.campaign.name], lambda printed: f"written: {printed}")
