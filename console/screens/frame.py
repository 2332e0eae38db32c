"""What every screen has: title bar, footer, topics it wants, help, and a message where nothing can be read."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, cast

from textual import events
from textual._styles_cache import StylesCache
from textual.app import ComposeResult
from textual.css.query import NoMatches
from textual.geometry import Size
from textual.screen import Screen

from console.actions import ACTIONS, NOT_IN_PALETTE, SCREEN_KEYS, footer_keys, key_groups
from state.outside_text import plain_line
from state.records.views import EngineView
from widgets.key_footer import KeyFooter
from widgets.pane import Pane
from widgets.title_bar import Title, TitleBar

if TYPE_CHECKING:
    from console.app import Console

FRESH_S = 0.9
SMALLEST = Size(40, 6)


class FrameScreen(Screen[None]):
    """A subclass gives `compose_body`, the topics that it wants, and `take` for their records."""

    TITLE_TEXT: ClassVar[str] = ""
    BELONGS_TO: ClassVar[str] = ""
    """The list that details are opened from, as the title bar names it."""
    PLACES: ClassVar[tuple[str, ...]] = ()
    """Places of `ACTIONS` whose keys work here, for footer and help."""
    TOPICS: ClassVar[frozenset[str]] = frozenset()

    DEFAULT_CSS = """
    FrameScreen {
        overflow: hidden;
        &.tiny TitleBar { dock: top; height: 100%; }
        &.tiny KeyFooter { display: none; }
    }
    """

    @property
    def console(self) -> "Console":
        """The app."""
        return cast("Console", self.app)

    def compose(self) -> ComposeResult:
        """Title, body, footer."""
        yield TitleBar(id="title")
        yield from self.compose_body()
        yield KeyFooter(id="footer")

    def compose_body(self) -> ComposeResult:
        """What lies between title and footer."""
        raise NotImplementedError

    def title_text(self) -> str:
        """What the title bar says."""
        return self.TITLE_TEXT

    def take(self, topic: str, record: Any) -> None:
        """Show a record of a wanted topic."""
        raise NotImplementedError

    def on_screen_resume(self) -> None:
        """Ask for what this screen needs, and show what is known already."""
        self.console.want(self.TOPICS | {"engine"})
        self.show_everything()

    def on_unmount(self) -> None:
        """Let go of what was drawn."""
        # This cache of Textual 8.2 lacks its `classmethod`: it would keep the drawn lines of a thousand closed widgets.
        StylesCache.get_inner_outer.cache_clear()

    def on_resize(self, event: events.Resize) -> None:
        """Below the smallest useful size only a summary is drawn."""
        tiny = event.size.width < SMALLEST.width or event.size.height < SMALLEST.height
        if tiny != self.has_class("tiny"):
            self.set_class(tiny, "tiny")
            self._show_title(self.console.records.get("engine"))

    def fresh(self, topic: str, record: Any) -> None:
        """A record has changed."""
        with suppress(NoMatches):  # not composed yet, and then drawn on resume; or half gone, as the console ends
            if topic == "engine" or self.has_class("tiny"):
                self._show_title(self.console.records.get("engine"))
            if topic in self.TOPICS:
                self.take(topic, record)

    def show_everything(self) -> None:
        """Draw title, footer and all known records."""
        self._show_title(self.console.records.get("engine"))
        self.query_one(KeyFooter).show((tuple(footer_keys(self.PLACES)), ""))
        if not self.console.held:
            for topic in sorted(self.TOPICS & self.console.records.keys()):
                self.take(topic, self.console.records[topic])

    def redraw_ages(self) -> None:
        """Look again at ages and stale marks; what has just been drawn anew needs none."""
        for pane in self.query(Pane):
            if pane.drawn_s_ago() > FRESH_S:
                pane.redraw()

    def show_help(self) -> None:
        """Show the keys that work here."""
        from widgets.key_help import KeyHelp

        self.app.push_screen(KeyHelp(key_groups(self.PLACES), f"Keys: {self.TITLE_TEXT}"))

    def leave(self, going: Callable[[], None]) -> None:
        """Go elsewhere; a screen that would lose something asks first."""
        going()

    def action_back(self) -> Any:
        """Close details; a screen that was not opened from another one stays."""
        if len(self.app.screen_stack) > 2:
            self.app.pop_screen()

    def commands(self) -> Iterator[tuple[str, str, Callable[[], Any]]]:
        """What the palette offers here."""
        for action in ACTIONS:
            if action.where in (*self.PLACES, "everywhere") and action.action not in NOT_IN_PALETTE:
                yield action.label, action.meaning, partial(self._run, action.action)

    async def _run(self, action: str) -> None:
        await self.run_action(action if hasattr(self, f"action_{action}") else f"app.{action}")

    def _show_title(self, view: EngineView | None) -> None:
        held = "HELD: press p   " if self.console.held else ""
        words, style = _engine_words(view)
        details = "" if self.title_text() == self.TITLE_TEXT else self.title_text()
        summary = self._summary(view) if self.has_class("tiny") else ""
        self.query_one(TitleBar).show(
            Title(
                SCREEN_KEYS,
                self.BELONGS_TO or self.TITLE_TEXT,
                details,
                held + words,
                "$warning" if held else style,
                summary,
            )
        )

    def _summary(self, view: EngineView | None) -> str:
        errors = [alert for alert in self.console.records.get("alerts", ()) if alert.severity == "error"]
        if errors:
            return f"! {plain_line(errors[0].title, 80)}"
        return f"Alula: {_engine_words(view)[0]}, no errors"


def _engine_words(view: EngineView | None) -> tuple[str, str]:
    if view is None:
        return "reading", "$text-muted"
    if not view.readable:
        return "state cannot be read", "$error"
    if not view.alive:
        return "engine down: press e", "$error"
    failing = [part.name for part in view.parts if part.state == "backing_off"]
    if failing:
        return f"engine fails at: {', '.join(failing)}", "$warning"
    return "engine up", "$success"
