"""The launch form: fields of a recipe, the exact command, what stands against it, what is free."""

import asyncio
from pathlib import Path
from typing import Any, ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Container, VerticalScroll
from textual.content import Content
from textual.message import Message
from textual.widgets import Static

from console.actions import bindings
from console.launching.form import FormField, Typed, fields_of, read_form
from console.launching.looking import Looked, around_text, check_interpreter, command_text, failed, look, problem_text
from console.screens.frame import FrameScreen
from engine.client import CommandRefused, EngineUnavailable
from engine.jobs.recipes.interpreters import FoundInterpreter
from engine.jobs.recipes.records import Recipe
from state.errors import StateError
from state.outside_text import plain_line
from state.records.jobs import Job
from widgets.form_line import FormLine

DEBOUNCE_S = 0.15
LOOK_AGAIN_S = 5.0
SIDE_BY_SIDE = 110


class LaunchScreen(FrameScreen):
    """Looks at the host in a thread after each change; launches nothing that an error stands against."""

    TITLE_TEXT = "Launch"
    BELONGS_TO = "Jobs"
    PLACES = ("launch", "details")
    BINDINGS: ClassVar[list[BindingType]] = [*bindings("launch"), *bindings("details")]
    DEFAULT_CSS = """
    LaunchScreen {
        & #body { layout: vertical; height: 1fr; }
        & #form { height: 1fr; padding: 0 1; scrollbar-size-vertical: 1; }
        & #help { height: 1; padding: 0 1; color: $accent; }
        & #preview { height: 45%; border-top: solid $panel-lighten-1; padding: 0 1; scrollbar-size-vertical: 1; }
        & .section { color: $text-muted; text-style: bold; }
        & #command { margin-top: 1; }
        &.wide #body { layout: horizontal; }
        &.wide #form { width: 45%; height: 100%; }
        &.wide #preview { width: 1fr; height: 100%; border-top: none; border-left: solid $panel-lighten-1; }
    }
    """

    class Seen(Message):
        """A look at the host has ended."""

        def __init__(self, looked: Looked) -> None:
            super().__init__()
            self.looked = looked

    def __init__(self, recipe: Recipe, job: Job | None = None) -> None:
        super().__init__()
        self.recipe = recipe
        self.fields = fields_of(recipe, job)
        self.looked: Looked | None = None
        self._looking = False
        self._look_again = False
        self._known: dict[str, FoundInterpreter] = {}
        self._checking: set[str] = set()
        self._sending = False
        self._wanted = False

    def compose_body(self) -> ComposeResult:
        """The form, the help of the line with the focus, the preview."""
        with Container(id="body"):
            with VerticalScroll(id="form", can_focus=False):
                yield Static(Content(plain_line(self.recipe.help, 300)), classes="section")
                section = "recipe"
                for field in self.fields:
                    if field.section != section:
                        section = field.section
                        yield Static("Queue", classes="section")
                    yield _line(field)
            with VerticalScroll(id="preview", can_focus=False):
                yield Static("looking ...", id="problems", markup=False)
                yield Static("", id="command", markup=False)
                yield Static("", id="around", markup=False)
        yield Static("", id="help", markup=False)

    def on_mount(self) -> None:
        """Look at once, and again every few seconds: the host changes."""
        first = next((line for line in self.query(FormLine) if self._field(line.key).required), None)
        (first or self.query(FormLine).first()).focus_entry()
        self._look()
        self.set_interval(LOOK_AGAIN_S, self._look)

    def on_resize(self, event: events.Resize) -> None:
        """Side by side where there is room."""
        super().on_resize(event)
        self.set_class(event.size.width >= SIDE_BY_SIDE, "wide")

    def title_text(self) -> str:
        """The recipe's name."""
        return f"Launch {plain_line(self.recipe.name, 60)}"

    def take(self, topic: str, record: Any) -> None:
        """Nothing here comes from the feed."""

    def on_form_line_changed(self) -> None:
        """Look again shortly."""
        self.set_timer(DEBOUNCE_S, self._look)

    def on_form_line_reached(self, event: FormLine.Reached) -> None:
        """Show the help of the line."""
        self.query_one("#help", Static).update(Content(plain_line(self._field(event.line.key).help, 200)))

    def on_launch_screen_seen(self, event: Seen) -> None:
        """Show it."""
        self.looked = event.looked
        found = event.looked.prepared.interpreter
        self.query_one("#problems", Static).update(problem_text(event.looked))
        checking = found is not None and found.path in self._checking
        self.query_one("#around", Static).update(around_text(event.looked, checking))
        launch = event.looked.prepared.launch
        self.query_one("#command", Static).update(command_text(launch) if launch else Content(""))
        for line in self.query(FormLine):
            line.set_class(line.key in event.looked.prepared.mistakes, "wrong")
        if found is not None and not found.checked and found.problem is None and found.path not in self._checking:
            self._checking.add(found.path)
            self.run_worker(self._check_import(found))
        if self._wanted:
            self._wanted = False
            self.action_launch_now()

    def action_launch_now(self) -> None:
        """Have the engine queue it, if nothing stands against it."""
        looked = self.looked
        if self._sending:
            return
        if looked is None or looked.typed != self.typed():
            self._wanted = True  # what was typed last has not been looked at yet
            self._look()
            return
        if looked.prepared.mistakes or looked.prepared.launch is None:
            names = ", ".join(looked.prepared.mistakes) or "the values"
            self.notify(f"not launched: see {plain_line(names, 200)}", severity="error", markup=False)
        elif looked.standing:
            rules = " ".join(dict.fromkeys(one.rule for one in looked.standing))
            text = f"not launched. Mend it, or name what you take upon you under override: {rules}"
            self.notify(plain_line(text, 400), severity="error", timeout=10, markup=False)
        else:
            self._sending = True
            self.run_worker(self._send(looked), exclusive=True, group="send")

    def action_save_recipe(self) -> None:
        """Keep the values as a recipe of one's own."""
        from console.screens.text_question import TextQuestion

        def named(name: str | None) -> None:
            if name:
                self._save(name)

        self.app.push_screen(TextQuestion("Name of the recipe", f"my-{self.recipe.name}"), named)

    def action_pick_path(self) -> None:
        """Choose a file or folder for the line with the focus."""
        from console.screens.file_choice import choose_path

        line = next((line for line in self.query(FormLine) if line.has_focus_within), None)
        if line is None or not self._field(line.key).is_path:
            self.notify("this line takes no path", markup=False)
            return

        def chosen(path: Path) -> None:
            line.set_text(str(path))
            line.focus_entry()

        start = Path(line.text).expanduser()
        choose_path(self.app, chosen, start if line.text and start.is_dir() else None, folders=True)

    async def action_back(self) -> None:
        """Leave the form; nothing is launched."""
        self.app.pop_screen()

    def typed(self) -> Typed:
        """What stands in the form now."""
        return read_form(self.recipe, {line.key: line.text for line in self.query(FormLine)})

    def _field(self, key: str) -> FormField:
        return next(field for field in self.fields if field.key == key)

    def _look(self) -> None:
        """One look at a time: on a host where it takes longer than the pause between two, each still ends."""
        if self._looking or not self.is_mounted:
            self._look_again = True
            return
        self._looking, self._look_again = True, False
        self.run_worker(self._look_once(self.typed()))

    async def _look_once(self, typed: Typed) -> None:
        known = self._known.get(typed.python or "")
        try:
            looked = await asyncio.to_thread(look, self.recipe, typed, self.console.folder, known)
        except StateError as error:
            looked = failed(error, typed)
        finally:
            self._looking = False
        if (found := looked.prepared.interpreter) is not None:
            self._known.setdefault(typed.python or "", found)
        self.post_message(self.Seen(looked))
        if self._look_again:
            self._look()

    async def _check_import(self, found: FoundInterpreter) -> None:
        checked = await asyncio.to_thread(check_interpreter, self.recipe, found)
        self._checking.discard(found.path)
        self._known = {name: checked if one.path == found.path else one for name, one in self._known.items()}
        self._look()

    async def _send(self, looked: Looked) -> None:
        from console.launching.sending import send

        try:
            job_id = await asyncio.to_thread(send, self.console.client, looked, self.typed().wishes.on)
        except (CommandRefused, EngineUnavailable, StateError) as error:
            self.notify(plain_line(f"{error}. {error.remedy}", 500), severity="error", timeout=10, markup=False)
        else:
            self.notify(f"job {job_id} is queued", markup=False)
            self.console.action_show("jobs")
        finally:
            self._sending = False

    def _save(self, name: str) -> None:
        from engine.jobs.recipes.catalogue import save_as

        typed = self.typed()
        ports = {key for key, one in self.recipe.parameters.items() if one.type == "port"}
        kept = {key: value for key, value in typed.given.items() if value is not None and key not in ports}
        try:
            path = save_as(name, self.recipe, kept)
        except StateError as error:
            self.notify(plain_line(f"{error}. {error.remedy}", 300), severity="error", markup=False)
        else:
            self.notify(plain_line(f"saved: {path}", 300), markup=False)


def _line(field: FormField) -> FormLine:
    choices = ("true", "false") if field.kind == "bool" else field.choices if field.kind == "choice" else ()
    label = field.label + (" *" if field.required else "")
    return FormLine(field.key, label, field.text, choices=choices, optional=field.kind != "bool", hint=field.hint)
