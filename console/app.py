"""The console: modes for screens, a feed of records, a client for commands. All else lives in the screens."""

import threading
import time
from collections.abc import Callable
from typing import Any, ClassVar

from textual import events
from textual.app import App
from textual.binding import BindingType
from textual.message import Message

from console.actions import ACTIONS, bindings
from console.feed.reader import Feed
from console.key_order import KeyOrder
from console.screens.frame import FrameScreen
from console.screens.table import SCREENS, screen_class
from console.theme import DARK, LIGHT
from engine.client import Client, CommandRefused, EngineUnavailable
from state.errors import StateError
from state.folder import StateFolder, state_folder
from state.outside_text import plain_line
from state.records.alerts import Alert
from widgets.terminal.driver import DiffDriver, choose_driver

AGE_S = 1.0
"""How often ages and stale marks are looked at; nothing is sent where they are the same."""
TOASTS_AT_ONCE = 3
SAY_AGAIN_S = 30.0


class Console(App[None]):
    """Reads the state database, writes commands, and owns nothing: leaving it stops nothing."""

    TITLE = "Alula"
    CSS = """
    Screen { layers: base; }
    CommandPalette SearchIcon { display: none; }
    .heading { height: 1; color: $text-muted; text-style: bold; padding: 0 1; }
    """
    ENABLE_COMMAND_PALETTE = True
    BINDINGS: ClassVar[list[BindingType]] = [*bindings("everywhere")]

    class Fresh(Message):
        """A topic's record has changed."""

        def __init__(self, topic: str, record: Any) -> None:
            super().__init__()
            self.topic = topic
            self.record = record

        def can_replace(self, message: Message) -> bool:
            """Of a burst about one topic only the last counts."""
            return isinstance(message, Console.Fresh) and message.topic == self.topic

    class Said(Message):
        """A word for the operator, from a thread."""

        def __init__(self, text: str, *, error: bool) -> None:
            super().__init__()
            self.text = text
            self.error = error

    def __init__(self, folder: StateFolder, *, start_engine: bool = True) -> None:
        super().__init__(driver_class=choose_driver(), watch_css=False)
        for theme in (DARK, LIGHT):
            self.register_theme(theme)
        self.theme = DARK.name
        self.folder = folder
        self.client = Client(folder)
        self.records: dict[str, Any] = {}
        self.held = False
        self._start_engine = start_engine
        self._feed = Feed(folder.database_path, self._tell, self._fail)
        self._ages_due = 0.0
        self._failed: tuple[str, float] = ("", 0.0)
        self._typed = KeyOrder(self, super().on_event)

    async def on_event(self, event: events.Event) -> None:
        """Keys and pastes take turns."""
        if isinstance(event, events.Key | events.Paste) and not event.is_forwarded:
            await self._typed.take(event)
        else:
            await super().on_event(event)

    def on_mount(self) -> None:
        """Show the overview at once; what it shows comes as it is read."""
        self.action_show("overview")
        self._feed.start()
        self.set_interval(AGE_S / 2, self._look_at_ages_where_due)
        if self.folder.notice:
            self.notify(self.folder.notice, severity="warning", timeout=20, markup=False)
        if self._start_engine:
            self.action_start_engine()

    def on_unmount(self) -> None:
        """End the reading thread."""
        self._feed.end()

    def on_console_fresh(self, event: Fresh) -> None:
        """Keep the record, and show it where it is wanted."""
        known = self.records.get(event.topic)
        self.records[event.topic] = event.record
        if event.topic == "alerts" and known is not None:
            self._call_out(known, event.record)
        if not self.screen_stack:
            return  # the console is being left
        if not self.held and (screen := self._in_sight()) is not None:
            screen.fresh(event.topic, event.record)
            if time.monotonic() >= self._ages_due - AGE_S / 2:
                self._look_at_ages()  # in the same frame as the records

    def on_console_said(self, event: Said) -> None:
        """Show a word from a thread."""
        text = plain_line(event.text, 500)
        if event.error:
            self.notify(text, severity="error", timeout=10, markup=False)
        else:
            self.notify(text, timeout=5, markup=False)

    def want(self, topics: frozenset[str]) -> None:
        """The screen in sight needs these."""
        self._feed.want(topics | {"alerts"})

    def ask(self, kind: str, arguments: dict[str, Any], done: str) -> None:
        """Have the engine do something, in a thread; say how it went."""

        def asking() -> None:
            try:
                self.client.ensure_engine()
                self.client.ask(kind, arguments)
            except (CommandRefused, EngineUnavailable, StateError) as error:
                self.post_message(self.Said(f"{error}. {error.remedy}", error=True))
            else:
                self.post_message(self.Said(done, error=False))

        threading.Thread(target=asking, name=kind, daemon=True).start()

    def action_show(self, name: str) -> None:
        """Go to a screen; details that were open on it are closed."""

        def going() -> None:
            while len(self.screen_stack) > 1:
                self.pop_screen()
            self.push_screen(screen_class(name)())

        self._leave(going)

    def action_start_engine(self) -> None:
        """Start the engine in a thread, if none runs."""

        def starting() -> None:
            try:
                self.client.ensure_engine()
            except (EngineUnavailable, StateError) as error:
                self.post_message(self.Said(f"{error}. {error.remedy}", error=True))

        threading.Thread(target=starting, name="start-engine", daemon=True).start()

    def action_hold(self) -> None:
        """Hold the picture still, or let it go on."""
        self.held = not self.held
        if isinstance(self.screen, FrameScreen):
            self.screen.show_everything()

    def action_light_or_dark(self) -> None:
        """Change between the light and the dark theme."""
        self.theme = (LIGHT if self.current_theme.dark else DARK).name

    def action_help(self) -> None:
        """Show the keys."""
        if isinstance(self.screen, FrameScreen):
            self.screen.show_help()

    def action_quit_console(self) -> None:
        """Leave. Jobs, engine and runs go on."""
        self._leave(self.exit)

    def _leave(self, going: Callable[[], None]) -> None:
        """What lies on top may ask first."""
        top = self.screen
        if isinstance(top, FrameScreen):
            top.leave(going)
        else:
            going()

    async def action_back(self) -> None:
        """Close what lies on top."""
        if len(self.screen_stack) > 2:
            self.pop_screen()

    def get_system_commands(self, screen: Any) -> Any:
        """Commands of the palette: every screen, and every action that works here."""
        meanings = {action.action: f"Key {action.shown}. {action.meaning}" for action in ACTIONS}
        for name, (title, _) in SCREENS.items():
            meaning = meanings[f"show('{name}')"]
            yield self._command(f"Go to {title}", meaning, lambda name=name: self.action_show(name))
        if isinstance(screen, FrameScreen):
            for label, meaning, call in screen.commands():
                yield self._command(label, meaning, call)

    def _command(self, title: str, help_text: str, call: Any) -> Any:
        from textual.app import SystemCommand

        return SystemCommand(title, help_text, call)

    def _look_at_ages_where_due(self) -> None:
        if time.monotonic() >= self._ages_due:
            self._look_at_ages()

    def _look_at_ages(self) -> None:
        self._ages_due = time.monotonic() + AGE_S * 1.5
        if (screen := self._in_sight()) is not None:
            screen.redraw_ages()

    def _in_sight(self) -> FrameScreen | None:
        """The screen on top, or the one that is seen behind a dialog."""
        return next((screen for screen in reversed(self.screen_stack) if isinstance(screen, FrameScreen)), None)

    def _call_out(self, known: tuple[Alert, ...], found: tuple[Alert, ...]) -> None:
        """Ring the bell and show a toast for errors that have just opened."""
        old = {alert.id for alert in known}
        new = [alert for alert in found if alert.severity == "error" and alert.id not in old]
        for alert in new[:TOASTS_AT_ONCE]:
            text = plain_line(f"{_what(alert)}. {alert.remedy}", 500)
            self.notify(text, severity="error", timeout=15, markup=False)
        if new:
            self._call_through_terminal(new[0])

    def _call_through_terminal(self, alert: Alert) -> None:
        """Bell and desktop notification, as the settings say; a slip in the settings is the engine's to tell."""
        from state.settings import Notifications, load_settings
        from widgets.terminal.notification import notification

        try:
            how = load_settings().notify.terminal
        except StateError:
            how = Notifications().terminal
        if how in ("bell", "both"):
            self.bell()
        if how in ("osc9", "both") and isinstance(self._driver, DiffDriver):
            self._driver.call_out(notification(_what(alert)))

    def _tell(self, topic: str, record: Any) -> None:
        self.post_message(self.Fresh(topic, record))

    def _fail(self, message: str) -> None:
        """What fails anew at each look is said once in a while. Called by the reading thread alone."""
        known, at = self._failed
        if message != known or time.monotonic() - at > SAY_AGAIN_S:
            self._failed = (message, time.monotonic())
            self.post_message(self.Said(message, error=True))


def _what(alert: Alert) -> str:
    """What is wrong, and with what."""
    return alert.title if alert.subject in alert.title else f"{alert.title}: {alert.subject}"


def run() -> None:
    """Open the console on this account's state folder."""
    import sys

    try:
        folder = state_folder()
    except StateError as error:
        sys.exit(f"alula: {error}\n{error.remedy}")
    Console(folder).run()
