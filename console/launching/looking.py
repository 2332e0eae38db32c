"""What a form would launch and what stands against it: read in a thread, drawn as lines."""

import shlex
from contextlib import closing
from pathlib import Path

import msgspec
from textual.content import Content

from console.launching.form import Typed
from engine.jobs.recipes.command import Launch
from engine.jobs.recipes.config_check import findings_of
from engine.jobs.recipes.host_checks import Problem, free_now
from engine.jobs.recipes.interpreters import FoundInterpreter, check_import
from engine.jobs.recipes.preparing import Place, Prepared, prepare
from engine.jobs.recipes.records import Recipe
from state.database import open_database
from state.errors import StateError
from state.folder import StateFolder
from state.outside_text import plain_line
from state.secret_words import shown_argv
from state.settings import load_settings

SIGNS = {"error": "✗", "warning": "!", "info": "·"}
STYLES = {"error": "$error", "warning": "$warning", "info": "$text-muted"}
LONGEST = 600


class Looked(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of a form's texts."""

    prepared: Prepared
    free: str
    typed: Typed = Typed()

    @property
    def overridden(self) -> frozenset[str]:
        """Rules of errors that the operator takes upon himself."""
        return self.typed.overridden

    @property
    def standing(self) -> tuple[Problem, ...]:
        """Errors that keep it from starting."""
        return self.prepared.standing(self.overridden)


def look(recipe: Recipe, typed: Typed, folder: StateFolder, known: FoundInterpreter | None) -> Looked:
    """Make the launch and check it, without the import that takes long. For a thread.

    Raises:
        StateError: The database or the settings cannot be read.
    """
    working_dir = str(Path.cwd())
    place = Place(
        working_dir=working_dir, secrets_path=folder.secrets_path, runs_path=folder.runs_path,
        settings=load_settings(),
    )  # fmt: skip
    with closing(open_database(folder.database_path)) as database:
        found = prepare(
            recipe, typed.given, typed.wishes, place, database, chosen_python=typed.python, thorough=False, known=known
        )
        free = free_now(database, working_dir)
    if found.launch is not None and not found.mistakes and typed.wishes.on == "local":
        problems = (*found.problems, *findings_of(recipe, found.launch, found.interpreter))
        found = msgspec.structs.replace(found, problems=problems)
    found = msgspec.structs.replace(found, mistakes={**found.mistakes, **typed.mistakes})
    return Looked(prepared=found, free=free, typed=typed)


def check_interpreter(recipe: Recipe, found: FoundInterpreter) -> FoundInterpreter:
    """Import the package in that Python. For a thread: up to a minute."""
    return found if recipe.interpreter is None else check_import(found, recipe.interpreter)


def command_text(launch: Launch) -> Content:
    """The exact command, a flag a line."""
    lines: list[str] = []
    for word in shown_argv(launch.argv):
        text = shlex.quote(word)
        if lines and not (word.startswith("-") and len(word) > 1 and not word[1:2].isdigit()):
            lines[-1] += f" {text}"
        else:
            lines.append(text)
    return Content(" \\\n  ".join(plain_line(line, LONGEST) for line in lines))


def problem_text(looked: Looked) -> Content:
    """Mistakes, errors, warnings."""
    lines = [
        Content.styled(f"{SIGNS['error']} {plain_line(f'{name}: {reason}', LONGEST)}", STYLES["error"])
        for name, reason in looked.prepared.mistakes.items()
    ]
    for one in looked.prepared.problems:
        taken = one.severity == "error" and one.rule in looked.overridden
        remedy = f"; {one.remedy}" if one.remedy else ""
        text = plain_line(f"{one.rule}{' (overridden)' if taken else ''}: {one.title}{remedy}", LONGEST)
        style = STYLES["warning" if taken else one.severity]
        lines.append(Content.styled(f"{SIGNS[one.severity]} {text}", style))
    return Content("\n").join(lines or [Content.styled("✓ nothing stands against it", "$success")])


def around_text(looked: Looked, checking: bool) -> Content:
    """Free resources, interpreter, GPUs and ports."""
    lines = [looked.free]
    found = looked.prepared.interpreter
    if found is not None and found.problem is None:
        lines.append(f"python: {found.words}{' imports' if found.checked else ', checking the import ...' * checking}")
    launch = looked.prepared.launch
    if launch is not None:
        schedule = launch.schedule
        parts = [f"in {launch.working_dir}"]
        if schedule.gpu_choice or schedule.gpus:
            parts.append("GPU " + ",".join(map(str, schedule.gpu_choice)) if schedule.gpu_choice
                         else f"{schedule.gpus} GPUs")  # fmt: skip
        if schedule.ports:
            parts.append(f"port {' '.join(map(str, schedule.ports))}")
        if schedule.secrets:
            parts.append(f"secrets {' '.join(schedule.secrets)}")
        lines.append(", ".join(parts))
    return Content("\n").join(Content.styled(plain_line(line, LONGEST), "$text-muted") for line in lines)


def failed(error: StateError, typed: Typed) -> Looked:
    """Where nothing could be read."""
    problem = Problem("state", "error", str(error), error.remedy)
    return Looked(prepared=Prepared(problems=(problem,)), free="", typed=typed)
