"""The forecast against the target, and the next step."""

from textual.content import Content

from state.records.campaigns import CampaignView
from widgets.line import Line
from widgets.pane import Pane

NEXT = "Next: "


class Outlook(Pane[CampaignView]):
    """The next step first, which is what an operator needs; then the forecast, as much of it as there is room for."""

    DEFAULT_CSS = "Outlook { height: auto; border-top: solid $panel-lighten-1; }"

    def lines(self, width: int, height: int) -> list[Line]:
        """Long lines are folded, so that a verdict is never cut."""
        view = self.record
        if view is None:
            return []
        command = f"  ({view.proposed_command})" if view.proposed_command else ""
        first, *more = folded(f"{NEXT}{view.proposal}{command}", width - 1)
        marked = Content.assemble((f" {NEXT}", "bold $accent"), first.removeprefix(f" {NEXT}"))
        return [marked, *more, *(line for text in view.outlook for line in folded(text, width - 1))]


def folded(text: str, width: int) -> list[str]:
    """A text in lines of at most so many cells, broken at blanks."""
    import textwrap

    return [f" {line}" for line in textwrap.wrap(text, max(10, width - 1), subsequent_indent="  ")]
