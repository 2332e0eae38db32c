"""The recipe form of `alula jobs launch`: values, what stands against it, the launch."""

import shlex
import sys
from pathlib import Path
from typing import Any, NoReturn

import click
import msgspec

from console.command_line.job_launch import SAID, opened_database, variables_of, wishes_of
from console.command_line.live_view import ask, could_not, to_json
from engine.jobs.recipes.catalogue import load_catalogue, save_as
from engine.jobs.recipes.command import Launch
from engine.jobs.recipes.config_check import findings_of
from engine.jobs.recipes.preparing import Place, Prepared, prepare
from engine.jobs.recipes.records import Recipe, Value
from engine.jobs.recipes.values import parse_words
from state.errors import StateError
from state.folder import state_folder
from state.outside_text import plain_line
from state.secret_words import shown_argv, shown_environment, shown_parameters
from state.settings import load_settings

SIGNS = {"error": "✗", "warning": "!", "info": "·"}


def launch_recipe(name: str, words: tuple[str, ...], options: dict[str, Any], as_json: bool) -> NoReturn:
    """Launch it, or say why not: exit code 1 for errors that nobody overrode, 2 for wrong values."""
    try:
        recipe = load_catalogue().find(name)
        place = _place(options)
    except StateError as error:
        remedy = f"{error.remedy}; a program goes behind --: alula jobs launch -- {name}"
        sys.exit(could_not(StateError(str(error), remedy), as_json=as_json))
    python, given, mistakes = _given(recipe, words)
    if mistakes:
        _leave_with(recipe, mistakes, as_json)
    with opened_database(as_json) as database:
        found = prepare(recipe, given, wishes_of(options, as_json), place, database, chosen_python=python)
    if found.launch is None or found.mistakes:
        _leave_with(recipe, found.mistakes, as_json)
    launch = _with_options(found.launch, options)
    problems = (*found.problems, *(findings_of(recipe, launch, found.interpreter) if options["on"] == "local" else ()))
    found = msgspec.structs.replace(found, launch=launch, problems=problems)
    if options["save_as"]:
        _save(options["save_as"], recipe, given, as_json)
    _finish(found, launch, options, as_json)


def arguments_of(launch: Launch, on: str) -> dict[str, Any]:
    """What the engine is asked."""
    found: dict[str, Any] = msgspec.to_builtins(launch)
    return found | ({} if on == "local" else {"on": on})


def _finish(found: Prepared, launch: Launch, options: dict[str, Any], as_json: bool) -> NoReturn:
    standing = found.standing(frozenset(options["overridden"]))
    if options["dry_run"] or standing:
        _show(found, launch, as_json)
    elif not as_json:
        for line in _problem_lines(found):
            click.echo(line, err=True)
    if standing:
        rules = " ".join(f"--override {rule}" for rule in dict.fromkeys(one.rule for one in standing))
        if not as_json:
            click.echo(f"not launched: mend the errors, or take them upon you: {rules}", err=True)
        sys.exit(1)
    if options["dry_run"]:
        sys.exit(0)
    asked = arguments_of(launch, options["on"])
    sys.exit(ask("jobs.launch", asked, as_json=as_json, said=lambda answer: SAID.format(**answer)))


def _place(options: dict[str, Any]) -> Place:
    folder = state_folder()
    directory = (options["directory"] or Path.cwd()).absolute()
    return Place(
        working_dir=str(directory), secrets_path=folder.secrets_path, runs_path=folder.runs_path,
        settings=load_settings(),
    )  # fmt: skip


def _given(
    recipe: Recipe, words: tuple[str, ...]
) -> tuple[str | None, dict[str, Value | None], dict[str, str]]:  # fmt: skip
    """The interpreter, values and mistakes."""
    python = None
    rest = []
    for word in words:
        if recipe.interpreter is not None and word.startswith("python="):
            python = word.partition("=")[2] or None
        else:
            rest.append(word)
    given, mistakes = parse_words(recipe, rest)
    return python, given, mistakes


def _with_options(launch: Launch, options: dict[str, Any]) -> Launch:
    environment = {**launch.environment, **variables_of(options["variables"])}
    grace_s = launch.grace_s if options["grace_s"] is None else options["grace_s"]
    return msgspec.structs.replace(launch, environment=environment, grace_s=grace_s)


def _leave_with(recipe: Recipe, mistakes: dict[str, str], as_json: bool) -> NoReturn:
    if as_json:
        click.echo(to_json({"error": "values are wrong", "parameters": mistakes}), err=True)
        sys.exit(2)
    lines = "; ".join(plain_line(f"{name} {reason}", 300) for name, reason in mistakes.items())
    mistake = StateError(f"{recipe.name}: {lines}", f"see: alula jobs recipes {recipe.name}")
    sys.exit(could_not(mistake, as_json=False))


def _save(name: str, recipe: Recipe, given: dict[str, Value | None], as_json: bool) -> None:
    try:
        kept = {**recipe.values, **{key: value for key, value in given.items() if value is not None}}
        path = save_as(name, recipe, kept)
    except StateError as error:
        sys.exit(could_not(error, as_json=as_json))
    if not as_json:
        click.echo(f"saved: {path}", err=True)


def _show(found: Prepared, launch: Launch, as_json: bool) -> None:
    if as_json:
        shown = msgspec.structs.replace(
            launch, argv=shown_argv(launch.argv), environment=shown_environment(launch.environment),
            parameters=shown_parameters(launch.parameters),
        )  # fmt: skip
        click.echo(to_json({"launch": shown, "problems": found.problems, "interpreter": found.interpreter}))
        return
    schedule = launch.schedule
    gpus = ", ".join(map(str, schedule.gpu_choice)) or str(schedule.gpus)
    facts = [
        ("command", shlex.join(shown_argv(launch.argv))),
        ("directory", launch.working_dir),
        *(("python", found.interpreter.words) for _ in [0] if found.interpreter),
        ("gpus", gpus),
        *(("ports", ", ".join(map(str, schedule.ports))) for _ in [0] if schedule.ports),
        *(("secrets", ", ".join(schedule.secrets)) for _ in [0] if schedule.secrets),
        *(("ready", schedule.ready_url) for _ in [0] if schedule.ready_url),
    ]
    for name, value in facts:
        click.echo(plain_line(f"{name:<10} {value}", 4000))
    for line in _problem_lines(found):
        click.echo(line)


def _problem_lines(found: Prepared) -> list[str]:
    return [
        plain_line(f"{SIGNS[one.severity]} {one.rule}: {one.title}{f'; {one.remedy}' if one.remedy else ''}", 500)
        for one in found.problems
    ]
