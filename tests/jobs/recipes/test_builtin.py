"""Built-in recipes use flags that the tools have."""

import re
from pathlib import Path

import pytest

from engine.check.flags.table import flag_table
from engine.jobs.recipes.catalogue import load_catalogue
from engine.jobs.recipes.command import Wishes, build
from engine.jobs.recipes.records import Recipe, Value
from engine.jobs.recipes.templates import uses
from engine.jobs.recipes.values import resolve

RECIPES = load_catalogue(Path("/nowhere")).recipes
_FULL = {"int": 3, "float": 0.5, "bool": True, "string": "x", "path": "/x", "list": ("7",), "port": 31000}


def full(recipe: Recipe, **more: Value) -> tuple[str, ...]:
    """The command with a value for every parameter."""
    given = {
        name: one.choices[0] if one.choices else one.default if one.default is not None else _FULL[one.type]
        for name, one in recipe.parameters.items()
        if not one.pattern
    }
    values, mistakes = resolve(recipe, {**given, "extra": None, **more} if "extra" in given else {**given, **more})
    assert not mistakes
    return build(recipe, values, Wishes(), python="/p", working_dir="/").argv


def test_which_there_are() -> None:
    wanted = {
        "sglang-server", "sglang-eagle3", "specforge-train", "specforge-train-legacy", "specforge-hidden-states",
        "bench-serving", "bench-one-batch-server", "guidellm", "genai-bench", "alula-regen", "alula-bench",
        "reference-server", "command",
    }  # fmt: skip
    assert set(RECIPES) == wanted


@pytest.mark.parametrize("name", RECIPES)
def test_it_is_explained(name: str) -> None:
    recipe = RECIPES[name]
    assert recipe.help and all(one.help for one in recipe.parameters.values())
    assert recipe.release or name == "command"
    used = {
        *(name for name, _, _ in uses(recipe.template)),
        *re.findall(r"\{(\w+)", str((recipe.environment, recipe.working_dir))),
    }
    gpus = recipe.resources.gpus
    assert set(recipe.parameters) <= used | set(gpus if isinstance(gpus, tuple) else ())


@pytest.mark.parametrize("name", ["sglang-server", "sglang-eagle3"])
def test_sglang_knows_every_flag(name: str) -> None:
    known = {option for flag in flag_table("0.5.23").flags for option in flag.spellings()}
    off = {"radix_cache": False, "cuda_graph": False}
    given = {word for word in (*full(RECIPES[name]), *full(RECIPES[name], **off)) if word.startswith("--")}
    assert given <= known


COMMANDS = {"alula-bench": "bench run", "alula-regen": "regen start", "reference-server": "reference serve"}


@pytest.mark.parametrize("name", COMMANDS)
def test_alula_knows_every_flag(name: str) -> None:
    import click

    from console.command_line.root import alula

    found: click.Command = alula
    for part in COMMANDS[name].split():
        assert isinstance(found, click.Group)
        sub = found.get_command(click.Context(found), part)
        assert sub is not None
        found = sub
    known = {option for parameter in found.params for option in (*parameter.opts, *parameter.secondary_opts)}
    assert {word for word in full(RECIPES[name]) if word.startswith("--")} <= known
