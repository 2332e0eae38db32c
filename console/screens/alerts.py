"""What is wrong, and what was: cause, since when, what to do."""

import time
from typing import Any, ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType

from console.actions import bindings
from console.screens.listing import ListingScreen
from state.records.alerts import Alert
from widgets.alerts.columns import ALERT_COLUMNS, severity_text, state_words
from widgets.facts import Facts
from widgets.table import Table


class AlertsScreen(ListingScreen):
    """Open and past alerts, the newest first; the one under the cursor in full below."""

    TITLE_TEXT = "Alerts"
    PLACES = ("alerts", "lists")
    TOPICS = frozenset({"alert_history"})
    BINDINGS: ClassVar[list[BindingType]] = [*bindings("alerts")]
    DEFAULT_CSS = "AlertsScreen { & Facts { height: 6; border-top: solid $panel-lighten-1; } }"

    def compose_body(self) -> ComposeResult:
        """The table and the chosen alert."""
        yield from super().compose_body()
        yield Facts(id="facts")

    def make_table(self) -> Table[Any]:
        """The table."""
        return Table(ALERT_COLUMNS, key=lambda alert: alert.id, empty="Nothing is wrong, and nothing was.", id="table")

    def on_table_highlighted(self, event: Table.Highlighted) -> None:
        """Show the alert under the cursor."""
        self._show(event.record)

    def action_acknowledge(self) -> None:
        """Say that it was seen."""
        alert = self.chosen()
        if alert is None or alert.cleared_at is not None or alert.acknowledged_at is not None:
            self.notify("only an open alert can be acknowledged", markup=False)
            return
        self.console.ask("alerts.acknowledge", {"alert_id": alert.id}, "acknowledged")

    def _show(self, alert: Alert | None) -> None:
        if alert is None:
            self.query_one(Facts).show(())
            return
        since = time.strftime("%a %d %b %H:%M:%S", time.localtime(alert.since))
        self.query_one(Facts).show(
            (
                ("what", severity_text(alert) + f"  {alert.title}"),
                ("about", alert.subject),
                ("since", f"{since}, {state_words(alert)}"),
                ("cause", alert.cause),
                ("do", alert.remedy),
            )
        )
