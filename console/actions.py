"""Every key of the console, once: bindings, footer, help and the key table of the documents are made from it."""

from collections.abc import Iterable
from typing import NamedTuple

from textual.binding import Binding

from widgets.key_help import KeyGroup


class Action(NamedTuple):
    """Something that a key does."""

    keys: str
    """Textual's names, the first one is the one that is shown."""
    shown: str
    """As it is printed on the key."""
    action: str
    label: str
    """For the footer: one or two words."""
    meaning: str
    """For the help: a few words."""
    where: str = "everywhere"
    """The screen it works on."""
    footer: bool = True


LAUNCHABLE = "servers, regenerations, benchmarks"
"""Lists of what a recipe can start."""
ACTIONS: tuple[Action, ...] = (
    Action("question_mark,f1", "?", "help", "Help", "Show the keys that work here"),
    Action("colon,ctrl+p", ":", "command_palette", "Commands", "Find a command by name"),
    Action("1", "1", "show('overview')", "Overview", "Overview: the whole host", footer=False),
    Action("2", "2", "show('gpus')", "GPUs", "GPUs", footer=False),
    Action("3", "3", "show('servers')", "Servers", "Servers", footer=False),
    Action("4", "4", "show('jobs')", "Jobs", "Jobs", footer=False),
    Action("5", "5", "show('regenerations')", "Regen", "Regenerations", footer=False),
    Action("6", "6", "show('check')", "Check", "Check a deployment", footer=False),
    Action("7", "7", "show('alerts')", "Alerts", "Alerts", footer=False),
    Action("8", "8", "show('bench')", "Bench", "Benchmarks", footer=False),
    Action("9", "9", "show('data')", "Data", "Data: find it, mix it, keep it clean", footer=False),
    Action("0", "0", "show('campaign')", "Campaign", "Campaign: from prompts to speed-up", footer=False),
    Action("p", "p", "hold", "Hold", "Hold the picture still, or let it go on", footer=False),
    Action("t", "t", "light_or_dark", "Theme", "Light or dark", footer=False),
    Action("e", "e", "start_engine", "Start engine", "Start the engine if none runs", footer=False),
    Action("q,ctrl+c,f10", "q", "quit_console", "Quit", "Leave; everything goes on"),
    Action("ctrl+z", "^z", "suspend_process", "Suspend", "To the shell for a while; fg comes back", footer=False),
    Action("escape", "Esc", "back", "Back", "Back to where you came from", "details"),
    Action("slash", "/", "filter", "Filter", "Show matching rows; ! before the text inverts", "lists"),
    Action("enter", "Enter", "open", "Open", "Open the row under the cursor", "lists"),
    Action("j,down", "j", "down", "Down", "Next row; k or ↑ the one before, g G first and last", "lists", False),
    Action("s", "s", "sort", "Sort", "Sort by the next column; S turns the order round", "lists", False),
    Action("n", "n", "new_job", "New", "Launch a job by a recipe", "job list"),
    Action("n", "n", "launch_one", "New", "Launch one by a recipe", LAUNCHABLE),
    Action("v", "v", "groups", "Groups", "Groups by recipe, kind, state; Enter shows one", "job list"),
    Action("P", "P", "pause_queue", "Pause queue", "Start no more jobs; again: let them start", "job list", False),
    Action("D", "D", "drain_queue", "Drain", "Start no more jobs, to wait until none runs (asks)", "job list", False),
    Action("m", "m", "mark", "Mark", "Mark the job to compare another with it", "job list", False),
    Action("i", "i", "whole", "Details", "Parameters, environment, resources, timeline; or the log", "job"),
    Action("m", "m", "metric", "Metric", "Next figure of its log as a chart; M the one before; at the end none", "job"),
    Action("z", "z", "zoom", "Zoom", "Chart the newest values, or all", "job", False),
    Action("b", "b", "benchmark_checkpoint", "Benchmark", "Measure a training's newest checkpoint", "job", False),
    Action("x", "x", "stop_job", "Stop", "Stop the job (asks)", "jobs"),
    Action("r", "r", "retry_job", "Retry", "Run an ended job again", "jobs"),
    Action("a", "a", "change_job", "Again", "Change its parameters and launch it again", "jobs"),
    Action("c", "c", "compare_job", "Compare", "Compare with the marked job, or the one before it", "jobs", False),
    Action("ctrl+g", "^g", "launch_now", "Launch", "Launch it", "launch"),
    Action("ctrl+s", "^s", "save_recipe", "Save as", "Keep the values as a recipe of yours", "launch"),
    Action("ctrl+o", "^o", "pick_path", "Path", "Choose a file or folder for the line", "launch"),
    Action("tab", "Tab", "next_line", "Next", "Next line; Shift+Tab the one before", "launch", False),
    Action("x", "x", "pause_run", "Pause", "Pause the regeneration (asks)", "regenerations"),
    Action("r", "r", "resume_run", "Resume", "Go on with it", "regenerations"),
    Action("f", "f", "retry_failed", "Retry failed", "Ask failed samples again, all or of one kind", "regenerations"),
    Action("c", "c", "set_concurrency", "At once", "Set how many requests are sent at once, or auto", "regeneration"),
    Action("a", "a", "add_server", "Add server", "Ask another server too, or change a weight", "regeneration"),
    Action("d", "d", "remove_server", "Drop server", "Ask a server nothing more", "regeneration"),
    Action("x", "x", "stop_bench", "Stop", "Stop the benchmark (asks)", "bench"),
    Action("r", "r", "resume_bench", "Resume", "Measure what it has not measured", "bench"),
    Action(
        "h", "h", "export_bench", "Report", "Write its report into the run folder (HTML, Markdown, CSV, JSONL)", "bench"
    ),
    Action("x", "x", "stop_campaign", "Stop", "Stop the campaign (asks)", "campaign"),
    Action("r", "r", "resume_campaign", "Go on", "Go on to the end", "campaign"),
    Action("n", "n", "one_step", "Next step", "Do the next step, and stop behind it", "campaign"),
    Action("o", "o", "choose_campaign", "Start file", "Choose a campaign's file and start it (asks)", "campaign"),
    Action("d", "d", "write_document", "Document", "Write train_plan_vN.md", "campaign"),
    Action("enter", "Enter", "open", "Open", "Open the work of the step", "campaign"),
    Action("v", "v", "other_campaign", "Others", "Show the next campaign", "campaign", False),
    Action("n", "n", "new_search", "Search", "Send the scouts over the hub", "data"),
    Action("o", "o", "open_plan", "Open plan", "Open a plan from a file", "data"),
    Action("c", "c", "show_catalogue", "Catalogue", "The ten sets that are known already", "data"),
    Action("x", "x", "stop_work", "Stop", "Stop it (asks)", "data work"),
    Action("r", "r", "go_on", "Go on", "Go on with it", "data work"),
    Action("w", "w", "write_plan", "Plan", "Make a plan of the sets that are kept", "data sets"),
    Action("plus,equals_sign", "+", "longer", "More", "A hundredth more of the total for the source", "data plan"),
    Action("minus", "-", "shorter", "Less", "A hundredth less", "data plan"),
    Action("T", "T", "set_total", "Total", "Set the number of records", "data plan"),
    Action("u", "u", "undo", "Undo", "Take the last change back", "data plan"),
    Action("d", "d", "drop_source", "Drop", "Leave the source out", "data plan"),
    Action("ctrl+s", "^s", "save_plan", "Save", "Write the plan; the file before is kept", "data plan"),
    Action("ctrl+g", "^g", "run_plan", "Prepare", "Save it and prepare the data (asks)", "data plan"),
    Action("v", "v", "show_samples", "Samples", "Look at records, kept and left out", "data preparation"),
    Action("d", "d", "write_document", "Document", "Write train_plan_vN.md", "data preparation"),
    Action("tab", "Tab", "next_line", "Text", "To the record's text, which scrolls, and back", "data samples"),
    Action("a", "a", "acknowledge", "Seen", "Say that you have seen the alert", "alerts"),
    Action("w", "w", "span", "Time span", "Next time span of the chart", "charts"),
    Action("slash", "/", "search", "Search", "Search the log; n and N next and previous", "log"),
    Action("ampersand", "&", "filter_log", "Filter", "Show only lines with a text; ! before it: without it", "log"),
    Action("e", "e", "next_error", "Errors", "Next line that looks like an error; E previous", "log"),
    Action("f", "f", "follow", "Follow", "Follow the end, or stay", "log"),
    Action("w", "w", "wrap", "Wrap", "Break long lines, or cut them", "log"),
    Action("c", "c", "copy_fix", "Copy fix", "Copy the corrected command", "check"),
    Action("o", "o", "pick_file", "Open file", "Choose a file to check", "check"),
    Action("v", "v", "pick_server", "Servers", "Choose a running server to check", "check"),
    Action("l", "l", "launch_fix", "Launch", "Start the corrected command as a job (asks)", "check"),
)

SCREEN_KEYS: tuple[tuple[str, str], ...] = tuple(
    (action.shown, action.label) for action in ACTIONS if action.action.startswith("show(")
)
"""For the title bar."""

FROM_WIDGETS = frozenset({"open", "down", "next_line", "sort", "next_error", "follow", "wrap"})
"""Actions whose keys the focused widget binds itself; they stand here for footer and help."""


NOT_IN_PALETTE = frozenset(
    {"command_palette", "down", "filter", "open", *(action.action for action in ACTIONS if "show(" in action.action)}
)
"""Moving about, which the palette offers by the screens' names or not at all."""


def bindings(where: str) -> list[Binding]:
    """Bindings of one place."""
    return [
        Binding(action.keys, action.action, action.label, show=False)
        for action in ACTIONS
        if action.where == where and action.action not in FROM_WIDGETS
    ]


def footer_keys(places: Iterable[str]) -> list[tuple[str, str]]:
    """Keys and labels that the footer shows, those of the place itself first."""
    chosen = [
        action for place in (*places, "everywhere") for action in ACTIONS if action.where == place and action.footer
    ]
    return [(action.shown, action.label) for action in chosen]


def key_groups(places: Iterable[str]) -> list[KeyGroup]:
    """Keys that work in these places, for the help."""
    titles = {"details": "Here", "lists": "Lists", "everywhere": "Everywhere", "charts": "Charts", "log": "Log"}
    groups = []
    for place in (*places, "everywhere"):
        keys = tuple((action.shown, action.meaning) for action in ACTIONS if action.where == place)
        groups.append(KeyGroup(titles.get(place, place.capitalize()), keys))
    return groups


def key_table() -> str:
    """The table of keys in `docs/console.md`, in Markdown."""
    rows = [f"| {action.where} | `{action.shown}` | {action.meaning} |" for action in ACTIONS]
    return "\n".join(["| Where | Key | What it does |", "| --- | --- | --- |", *rows])
