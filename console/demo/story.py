"""The demonstration from end to end: the fault and its fix, then a whole campaign, then the report."""

import time
from collections.abc import Callable
from contextlib import closing

from console.demo.commands import CommandFailed, Commands
from console.demo.fault import Fault, show_fault, wait_for
from console.demo.place import forget, remember
from console.demo.report import Report, report_of
from console.demo.settings import NAME, Size, can_train, write_campaign
from engine.campaign.reports import read_view
from state.campaigns import find_campaign
from state.database import open_database
from state.folder import StateFolder
from state.outside_text import plain_line
from state.records.campaigns import CampaignView
from widgets.campaign.words import came_to

LOOK_S = 1.0
NO_TRAINING = (
    "The extra `train` is not installed (pip install 'alula[train]'): no draft is trained here. The draft that Alula "
    "ships is measured, and the forecast uses trainings that were recorded."
)


class Story:
    """The demonstration on one state folder."""

    def __init__(self, commands: Commands, size: Size, seen: Fault | None = None) -> None:
        """`seen` is what a demonstration on this folder had shown before it was killed in its campaign."""
        self.commands = commands
        self.size = size
        self.seen = seen
        self.trains = can_train()

    def play(self) -> Report:
        """All of it; returns what it measured.

        Raises:
            CommandFailed: A step did not do what it should.
        """
        began = time.monotonic()
        fault = self.begin() if self.seen is None else self.go_on(self.seen)
        view = self.follow()
        return report_of(fault, view, time.monotonic() - began, trained=self.trains)

    def begin(self) -> Fault:
        """Show the fault, then start the campaign.

        Raises:
            CommandFailed: A step did not do what it should.
        """
        paths = self.commands.ask("reference", "paths")
        fault = show_fault(self.commands, paths)
        self.start_campaign(paths)
        remember(self.commands.folder, fault)
        return fault

    def go_on(self, seen: Fault) -> Fault:
        """With the campaign of a demonstration that was killed, where it was.

        Raises:
            CommandFailed: It cannot be gone on with.
        """
        self.commands.say(
            f"A demonstration was killed here: its campaign goes on.  {self.commands.folder}\n", bold=True
        )
        if self.commands.ask("campaign", "status", allowed=(0, 1))["campaign"]["state"] in ("failed", "stopped"):
            self.commands.run("campaign", "resume", NAME)
        return seen

    def start_campaign(self, paths: dict[str, str]) -> None:
        """Write the campaign's file, and start it."""
        say = self.commands.say
        say(
            "4. A campaign: measure, have the target answer prompts, train drafts, measure again, foretell.\n",
            bold=True,
        )
        if not self.trains:
            say(f"   {NO_TRAINING}\n")
        path = write_campaign(self.commands.folder, paths["target"], paths["draft"], self.size, trains=self.trains)
        self.commands.run("campaign", "start", str(path))

    def follow(self) -> CampaignView:
        """Say of each step what it came to, until the campaign ends.

        Raises:
            CommandFailed: It stops before its end.
        """
        told: set[str] = set()
        folder = StateFolder(path=self.commands.folder)
        with closing(open_database(folder.database_path)) as database:
            while True:
                campaign = find_campaign(database, NAME)
                if campaign is None:
                    raise CommandFailed("the campaign did not start")
                view = read_view(database, campaign)
                tell(view, told, self.commands.say)
                if campaign.state == "done":
                    return view
                if campaign.state != "running":
                    raise CommandFailed(plain_line(f"the campaign {campaign.state}: {campaign.message}", 500))
                if self.commands.closed:
                    raise CommandFailed("left before its end")
                time.sleep(LOOK_S)

    def clean_up(self) -> None:
        """Stop what still runs, and the engine."""
        self.commands.closed = False
        forget(self.commands.folder)
        try:
            for job in self.commands.ask("jobs", "list"):
                if job["ended_at"] is None:
                    self.commands.ask("jobs", "stop", str(job["id"]))
            wait_for(self._nothing_runs, "a job did not stop")
            self.commands.ask("engine", "stop")
        except CommandFailed as error:
            self.commands.say(str(error))

    def _nothing_runs(self) -> bool:
        return all(job["ended_at"] is not None for job in self.commands.ask("jobs", "list"))


def tell(view: CampaignView, told: set[str], say: Callable[..., None]) -> None:
    """Say what has ended since the last look."""
    for step in view.steps:
        if step.state == "done" and step.name not in told:
            told.add(step.name)
            took = (step.ended_at or 0.0) - (step.began_at or 0.0)
            say(f"   {step.name:<16} {took:5.0f} s   {came_to(step)}")
