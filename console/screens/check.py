"""Is a deployment right: what was typed or what runs, its findings, its widths, its corrected command."""

import asyncio
from pathlib import Path
from typing import Any, ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.message import Message
from textual.widgets import Input, Static

from console.actions import bindings
from console.checking.subject import FindingRow, check_subject, corrected_command, involved_paths, rows
from console.checking.watching import FileWatch
from console.screens.ask_first import ask_first
from console.screens.frame import FrameScreen
from engine.check.report.result import Outcome
from engine.check.report.styled import SIGNS, Line, Style
from state.outside_text import plain_line
from widgets.columns import Column
from widgets.table import Table

HINT = "script, command, URL or pid; empty: what runs here. Enter checks, Esc leaves"
STYLES: dict[Style, str] = {
    "plain": "", "heading": "bold", "error": "bold $error", "warning": "$warning", "info": "$accent",
    "good": "$success", "dim": "$text-muted", "code": "",
}  # fmt: skip
FINDING_COLUMNS: tuple[Column[FindingRow], ...] = (
    Column("", lambda row: Content.styled(SIGNS[row.finding.severity], STYLES[row.finding.severity]), 2),
    Column("Rule", lambda row: row.finding.rule, 30, sort_key=lambda row: row.finding.rule),
    Column("What", lambda row: row.finding.title, 40, grows=True, sort_key=lambda row: row.finding.title),
    Column("Where", lambda row: row.name, 24, priority=2, grows=True, sort_key=lambda row: row.name),
)


class CheckScreen(FrameScreen):
    """Checks off the event loop, and again whenever a file that is involved changes."""

    TITLE_TEXT = "Check"
    PLACES = ("check", "lists")
    TOPICS = frozenset({"servers", "gpus"})
    BINDINGS: ClassVar[list[BindingType]] = [*bindings("check"), *bindings("lists"), *bindings("details")]
    DEFAULT_CSS = """
    CheckScreen {
        & Input { height: 1; border: none; background: $boost; padding: 0 1; }
        & #verdict { height: auto; max-height: 3; padding: 0 1; }
        & #findings { height: 30%; min-height: 4; border-top: solid $panel-lighten-1; }
        & VerticalScroll { height: 1fr; border-top: solid $panel-lighten-1; padding: 0 1; }
    }
    """

    class Done(Message):
        """A check has ended."""

        def __init__(self, subject: str, outcome: Outcome) -> None:
            super().__init__()
            self.subject = subject
            self.outcome = outcome

    class FilesChanged(Message):
        """A file under check has changed."""

        def can_replace(self, message: Message) -> bool:
            """One check answers a burst."""
            return isinstance(message, CheckScreen.FilesChanged)

    def __init__(self) -> None:
        super().__init__()
        self.subject = ""
        self.outcome = Outcome()
        self._watch: FileWatch | None = None

    def compose_body(self) -> ComposeResult:
        """What to check, the verdict, the findings, the one under the cursor."""
        yield Input(placeholder=HINT, id="subject", compact=True)
        yield Static("reading what runs here ...", id="verdict", markup=False)
        yield Table(FINDING_COLUMNS, key=lambda row: (row.place, row.finding.rule), empty="No finding.", id="findings")
        with VerticalScroll(id="detail", can_focus=True):
            yield Static("", id="report", markup=False)

    def on_mount(self) -> None:
        """Begin with what runs."""
        self.query_one("#subject", Input).focus()
        self._check("")

    def on_unmount(self) -> None:
        """Stop watching files."""
        if self._watch is not None:
            self._watch.end()

    def take(self, topic: str, record: Any) -> None:
        """What the feed brings is looked at when a server is chosen or started."""

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Check what was typed."""
        self.query_one("#findings").focus()
        self._check(event.value.strip())

    def on_check_screen_files_changed(self, event: FilesChanged) -> None:
        """Check again."""
        self._check(self.subject)

    def on_check_screen_done(self, event: Done) -> None:
        """Show the outcome of the newest question; an older one that comes late is dropped."""
        if event.subject != self.subject:
            return
        self.outcome = event.outcome
        self.query_one("#verdict", Static).update(self._verdict())
        self.query_one("#findings", Table).show(rows(event.outcome))
        self._show_report()
        self._watch_files()

    def on_table_highlighted(self, event: Table.Highlighted) -> None:
        """Show the finding under the cursor."""
        self._show_report()

    def action_copy_fix(self) -> None:
        """Copy the corrected command (OSC 52)."""
        commands = [command for one in self.outcome.checked if (command := corrected_command(one))]
        if not commands:
            self.notify("there is nothing to change in a command here", markup=False)
            return
        self.app.copy_to_clipboard("\n".join(commands))
        self.notify(f"copied: {plain_line(commands[0], 120)}", markup=False)

    def action_pick_server(self) -> None:
        """Choose a server that runs here, or one that is watched."""
        from console.screens.server_choice import Choice, ServerChoice

        def chosen(subject: str | None) -> None:
            if subject is not None:
                self.query_one("#subject", Input).value = subject
                self._check(subject)

        rows = [row for row in self.console.records.get("servers", ()) if row.server.pid is None]
        watched = [
            Choice(row.server.url, plain_line(f"{row.server.url}  {row.server.model or ''}", 200)) for row in rows
        ]
        self.app.push_screen(ServerChoice(watched), chosen)

    def action_launch_fix(self) -> None:
        """Have the engine start the corrected command, after one question."""
        from console.checking.launching import NotLaunchable, proposal
        from engine.jobs.secrets import secret_names
        from state.secret_words import shown_argv

        row = self.query_one("#findings", Table).selected
        index = row.deployment if row is not None else 0
        if index >= len(self.outcome.checked):
            self.notify("nothing has been checked yet", markup=False)
            return
        view = self.console.records.get("gpus")
        gpus = len([row for row in view.rows if row.gpu.parent_uuid is None]) if view is not None else 0
        kept = secret_names(self.console.folder.secrets_path)
        try:
            job = proposal(self.outcome.checked[index], gpus, kept)
        except NotLaunchable as why:
            self.notify(f"cannot be started from here: {why}", severity="warning", markup=False)
            return

        def launch() -> None:
            self.console.ask("jobs.launch", job.arguments(), f"{job.name} is queued: press 4 for the jobs")

        command = plain_line(" ".join(shown_argv(job.argv)), 600)
        lines = [command, "", *job.remarks, f"In {job.working_dir}; the engine keeps it running when you leave."]
        ask_first(self.app, f"Start {job.name}?", lines, launch, confirm="Start", refuse="Not now")

    def action_pick_file(self) -> None:
        """Choose a file."""
        from console.screens.file_choice import choose_path

        def chosen(path: Path) -> None:
            self.query_one("#subject", Input).value = str(path)
            self._check(str(path))

        choose_path(self.app, chosen)

    def action_filter(self) -> None:
        """Type what to check."""
        self.query_one("#subject", Input).focus()

    def action_back(self) -> None:
        """From the findings to the question; from there to the overview."""
        entry = self.query_one("#subject", Input)
        if not entry.has_focus:
            entry.focus()
        else:
            self.console.action_show("overview")

    def _check(self, subject: str) -> None:
        self.subject = subject
        self.query_one("#verdict", Static).update("checking ...")

        async def checking() -> None:
            self.post_message(self.Done(subject, await asyncio.to_thread(check_subject, subject)))

        self.run_worker(checking(), exclusive=True, group="check")

    def _verdict(self) -> Content:
        from engine.check.report.text_report import verdict

        lines = [
            Content.styled(
                f"{SIGNS['error']} {plain_line(f'{one.source}: {one.message} {one.remedy}', 300)}", "$warning"
            )
            for one in self.outcome.unchecked
        ]
        for one in self.outcome.checked:
            style: Style = "error" if one.count("error") else "warning" if one.count("warning") else "good"
            lines.append(Content.styled(plain_line(verdict(one), 200), STYLES[style]))
        return Content("\n").join(lines[:3])

    def _show_report(self) -> None:
        """The finding under the cursor first, then the widths and the command of its deployment."""
        from engine.check.report.command_lines import command_lines
        from engine.check.report.diagram import diagram
        from engine.check.report.text_report import finding_lines

        row = self.query_one("#findings", Table).selected
        lines: list[Line] = []
        if row is not None:
            lines += [*finding_lines(row.finding), ()]
        index = row.deployment if row is not None else 0
        if index < len(self.outcome.checked):
            one = self.outcome.checked[index]
            lines += [*diagram(one), (), *command_lines(one)]
        self.query_one("#report", Static).update(Content("\n").join(map(_content, lines)))

    def _tell_change(self) -> None:
        self.post_message(self.FilesChanged())

    def _watch_files(self) -> None:
        if self._watch is not None:
            self._watch.end()
        paths = involved_paths(self.outcome)
        self._watch = FileWatch(paths, self._tell_change) if paths else None
        if self._watch is not None:
            self._watch.start()


def _content(line: Line) -> Content:
    return Content.assemble(*((plain_line(span.text, 400), STYLES[span.style]) for span in line))
