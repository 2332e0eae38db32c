"""Recipes as lines of text."""

import msgspec

from console.command_line.live_view import table
from engine.jobs.recipes.catalogue import Catalogue, recipes_folder
from engine.jobs.recipes.records import Parameter, Recipe
from engine.jobs.recipes.values import shown
from state.outside_text import plain_line

LONGEST_HELP = 100


def list_lines(catalogue: Catalogue) -> list[str]:
    """A row for each recipe, and what is wrong with files."""
    rows = [
        (one.name, one.kind, one.release or "–", _short(plain_line(one.help, 500)))
        for one in catalogue.recipes.values()
    ]
    lines = table(("RECIPE", "KIND", "FOR", "WHAT IT DOES"), rows)
    lines += [f"✗ {plain_line(str(mistake), 400)}" for mistake in catalogue.mistakes]
    return [*lines, "", f"recipes of your own: {recipes_folder()}/*.toml"]


def recipe_lines(recipe: Recipe) -> list[str]:
    """Everything that a person needs to launch it."""
    head = [plain_line(recipe.help, 500), ""]
    facts = [("kind", recipe.kind), ("for", recipe.release), ("file", recipe.source), ("extends", recipe.extends or "")]
    if recipe.interpreter is not None:
        facts.append(("python", f"one with {recipe.interpreter.imports}; choose it by python=PATH"))
    facts += [("secrets", ", ".join((*recipe.secrets, *(f"{one} (if kept)" for one in recipe.optional_secrets))))]
    head += [plain_line(f"{name:<9} {value}", 300) for name, value in facts if value]
    rows = [
        (name + (" *" if one.required else ""), kind_words(one), default_words(one), one.help)
        for name, one in recipe.parameters.items()
    ]
    return [*head, "", *table(("PARAMETER (* required)", "TYPE", "DEFAULT", "MEANING"), rows)]


def kind_words(parameter: Parameter) -> str:
    """Type, choices or range."""
    if parameter.choices:
        return " | ".join(parameter.choices)
    low, high = parameter.minimum, parameter.maximum
    limits = f" {'' if low is None else f'{low:g}'}..{'' if high is None else f'{high:g}'}"
    return parameter.type + (limits if low is not None or high is not None else "")


def default_words(parameter: Parameter) -> str:
    """The default, as it can be typed."""
    if parameter.type == "port" and parameter.default is not None:
        return f"free, from {parameter.default}"
    return shown(parameter.default) if parameter.default is not None else "–"


def _short(text: str) -> str:
    """Its first sentences, as many as fit."""
    end = text.rfind(". ", 0, LONGEST_HELP)
    return text if len(text) <= LONGEST_HELP else text[: end + 1] if end > 0 else text[: LONGEST_HELP - 1] + "…"


def record_of(recipe: Recipe) -> object:
    """A recipe as JSON."""
    return {
        key: value
        for key, value in msgspec.to_builtins(recipe).items()
        if key != "template"
    }  # fmt: skip
