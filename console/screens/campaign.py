"""A campaign: its funnel from prompts to speed-up, its steps, its cost, the forecast against the target."""

from typing import Any, ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.widgets import Static

from console.actions import bindings
from console.screens.campaign_actions import choose_campaign, resume_campaign, stop_campaign, write_document
from console.screens.frame import FrameScreen
from state.outside_text import plain_line
from state.records.campaigns import CampaignStep, CampaignView
from widgets.campaign.columns import STEP_COLUMNS
from widgets.campaign.funnel import Funnel, wanted_height
from widgets.campaign.outlook import Outlook
from widgets.campaign.words import cost_words, done_words
from widgets.facts import Fact, Facts
from widgets.table import Table

EMPTY = (
    "No campaign yet.\n\n"
    "A campaign takes a target from prompts to a measured speed-up by itself: it prepares the prompts, has the target "
    "answer them, trains drafts on the answers, measures each against the target alone, and foretells what more data "
    "would give. It stops where a check or a guard fails.\n\n"
    "Write its file (docs/campaign.md shows one), then press o to choose it, or type:\n"
    "    alula campaign start campaign.toml\n"
    "To see one in small, on this machine:\n    alula demo"
)


class CampaignScreen(FrameScreen):
    """Shows the newest one; v goes to the others. Enter opens the work of a step."""

    TITLE_TEXT = "Campaign"
    PLACES = ("campaign", "details")
    TOPICS = frozenset({"campaigns"})
    BINDINGS: ClassVar[list[BindingType]] = [*bindings("campaign"), *bindings("details")]
    DEFAULT_CSS = """
    CampaignScreen {
        & Facts { height: 2; }
        & Table { height: 1fr; border-top: solid $panel-lighten-1; }
        & #empty { padding: 1 2; display: none; height: 1fr; }
        &.empty { & #empty { display: block; } & Facts, Funnel, Table, Outlook { display: none; } }
    }
    """

    def __init__(self) -> None:
        super().__init__()
        self.views: tuple[CampaignView, ...] = ()
        self._chosen: int | None = None

    def compose_body(self) -> ComposeResult:
        """Facts, funnel, steps, outlook; or why there is nothing."""
        yield Static(EMPTY, id="empty", markup=False)
        yield Facts(id="facts")
        yield Funnel(id="funnel")
        yield Table(STEP_COLUMNS, key=lambda step: step.id, empty="It has no steps.", id="table")
        yield Outlook(id="outlook")

    def on_mount(self) -> None:
        """The keys go to the steps."""
        self.query_one("#table", Table).focus()

    def on_resize(self, event: events.Resize) -> None:
        """Each pane takes what it needs, and the steps keep their lines."""
        super().on_resize(event)
        self._draw()

    @property
    def view(self) -> CampaignView | None:
        """The one in sight."""
        chosen = (view for view in self.views if view.campaign.id == self._chosen)
        return next(chosen, self.views[0] if self.views else None)

    def take(self, topic: str, record: tuple[CampaignView, ...]) -> None:
        """Show them as they stand now."""
        self.views = record
        self._draw()

    def facts(self, view: CampaignView) -> tuple[Fact, ...]:
        """State and cost."""
        campaign, others = view.campaign, len(self.views) - 1
        more = f"   ({others} more: v)" if others else ""
        state = f"{campaign.state}, {done_words(view)} steps{more}  {campaign.message}"
        return ((campaign.name[:12], plain_line(state, 300)), ("cost so far", cost_words(view)))

    def open_record(self, step: CampaignStep) -> None:
        """Show the work of a step: its benchmark, its regeneration or its newest job."""
        from console.screens.campaign_work import work_screen

        screen = work_screen(self.console.folder, step)
        if screen is None:
            self.console.notify(f"{step.name} has not begun", markup=False)
        else:
            self.app.push_screen(screen)

    def on_table_opened(self, event: "Table.Opened") -> None:
        """Open a step's work."""
        self.open_record(event.record)

    def action_other_campaign(self) -> None:
        """Show the next one."""
        numbers = [view.campaign.id for view in self.views]
        if self.view is not None and len(numbers) > 1:
            self._chosen = numbers[(numbers.index(self.view.campaign.id) + 1) % len(numbers)]
            self._draw()

    def action_stop_campaign(self) -> None:
        """Stop it."""
        if (view := self._view_or_say()) is not None:
            stop_campaign(self.console, view)

    def action_resume_campaign(self) -> None:
        """Go on."""
        if (view := self._view_or_say()) is not None:
            resume_campaign(self.console, view, single_step=False)

    def action_one_step(self) -> None:
        """Run the next step, and stop behind it."""
        if (view := self._view_or_say()) is not None:
            resume_campaign(self.console, view, single_step=True)

    def action_write_document(self) -> None:
        """Write the training plan."""
        if (view := self._view_or_say()) is not None:
            write_document(self.console, view)

    def action_choose_campaign(self) -> None:
        """Choose a campaign's file, and start it."""
        choose_campaign(self.console)

    def action_back(self) -> None:
        """Back to the overview."""
        self.console.action_show("overview")

    def _view_or_say(self) -> CampaignView | None:
        if self.view is None:
            self.notify("No campaign yet: press o to choose the file of one", markup=False)
        return self.view

    def _draw(self) -> None:
        view = self.view
        self.set_class(view is None, "empty")
        if view is None or not self.size.height:
            return
        self.query_one("#facts", Facts).show(self.facts(view))
        table: Table[Any] = self.query_one("#table", Table)
        table.show(view.steps)
        funnel, outlook = heights(self.size.height, wanted_height(view), len(view.steps), 1 + 2 * len(view.outlook))
        _resize(self.query_one("#funnel", Funnel), funnel)
        _resize(self.query_one("#outlook", Outlook), outlook)
        self.query_one("#funnel", Funnel).show(view)
        self.query_one("#outlook", Outlook).show(view)


def heights(lines: int, funnel: int, steps: int, outlook: int) -> tuple[int, int]:
    """Lines of the funnel and of the outlook: what they need, where five steps can still be seen."""
    left = lines - 4 - min(steps + 2, 7)
    for_outlook = min(outlook + 1, max(5 if lines >= 24 else 3, left - funnel))
    return max(4, min(funnel, left - for_outlook)), for_outlook


def _resize(pane: Funnel | Outlook, lines: int) -> None:
    if pane.styles.height is None or pane.styles.height.value != lines:
        pane.styles.height = lines
