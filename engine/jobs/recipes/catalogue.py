"""All recipes: those that come with Alula, and those in the operator's configuration folder."""

import functools
from collections.abc import Iterator, Mapping
from importlib.resources import files
from pathlib import Path

import msgspec

from engine.jobs.recipes.positions import line_of
from engine.jobs.recipes.reading import NAME, read_recipe
from engine.jobs.recipes.records import Recipe, RecipeMistake
from engine.jobs.recipes.values import ValueMistake, checked
from state.errors import StateError
from state.outside_file import read_small_text
from state.settings import settings_path

SIZE_LIMIT = 256 << 10


class Catalogue(msgspec.Struct, frozen=True):
    """Recipes by name; of a built-in and an operator's one of the same name the operator's holds."""

    recipes: Mapping[str, Recipe]
    mistakes: tuple[RecipeMistake, ...] = ()

    def find(self, name: str) -> Recipe:
        """One recipe.

        Raises:
            StateError: There is none of that name, with the mistake of its file where it has one.
        """
        if name in self.recipes:
            return self.recipes[name]
        for mistake in self.mistakes:
            if Path(mistake.source).stem == name:
                raise StateError(str(mistake), "mend the file")
        raise StateError(f"there is no recipe {name!r}", "see them: alula jobs recipes")


def recipes_folder() -> Path:
    """Where an operator's own recipes lie."""
    return settings_path().parent / "recipes"


def load_catalogue(folder: Path | None = None) -> Catalogue:
    """Read all recipes. One with a mistake does not stop the others."""
    found = dict(built_in())
    mistakes: list[RecipeMistake] = []
    texts: dict[str, str] = {}
    own: dict[str, Recipe] = {}
    for path in _paths(folder or recipes_folder()):
        try:
            text = _text(path)
            recipe = read_recipe(text, str(path))
            if recipe.name in own:
                reason = f"{own[recipe.name].source} has a recipe {recipe.name!r} already"
                raise RecipeMistake(str(path), line_of(text, ("name",)), reason)
            own[recipe.name], texts[recipe.name] = recipe, text
        except RecipeMistake as mistake:
            mistakes.append(mistake)
    for name, recipe in own.items():
        try:
            found[name] = _extended(recipe, {**built_in(), **own}, found, texts[name])
        except RecipeMistake as mistake:
            mistakes.append(mistake)
    return Catalogue(dict(sorted(found.items())), tuple(mistakes))


def save_as(name: str, recipe: Recipe, values: Mapping[str, object], folder: Path | None = None) -> Path:
    """Write a recipe of the operator's own that extends another with these values.

    Raises:
        StateError: The name is taken or cannot be one, or the file cannot be written.
    """
    import tomli_w

    place = (folder or recipes_folder()) / f"{name}.toml"
    if not NAME.fullmatch(name) or name in built_in():
        raise StateError(f"{name!r} cannot be the name of a recipe of yours", "small letters, digits, - . _")
    kept = {key: list(value) if isinstance(value, tuple) else value for key, value in values.items()}
    content = {"name": name, "extends": recipe.extends or recipe.name, "values": kept}
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        with place.open("xb") as file:
            tomli_w.dump(content, file)
    except FileExistsError:
        raise StateError(f"{place} exists", "choose another name, or remove it") from None
    except OSError as error:
        raise StateError(f"cannot write {place}: {error.strerror}", "see the folder's owner and space") from error
    return place


@functools.cache
def built_in() -> dict[str, Recipe]:
    """Those that come with Alula, by name."""
    folder = files("engine.jobs.recipes") / "builtin"
    entries = sorted((entry for entry in folder.iterdir() if entry.name.endswith(".toml")), key=lambda one: one.name)
    read = [read_recipe(entry.read_text(), f"builtin/{entry.name}") for entry in entries]
    return {recipe.name: recipe for recipe in read}


def _paths(folder: Path) -> Iterator[Path]:
    try:
        yield from sorted(folder.glob("*.toml"))
    except OSError:
        return


def _text(path: Path) -> str:
    try:
        return read_small_text(path, SIZE_LIMIT)
    except UnicodeDecodeError as error:
        raise RecipeMistake(str(path), None, f"is no UTF-8 text: {error.reason}") from error
    except OSError as error:
        raise RecipeMistake(str(path), None, f"cannot be read: {error.strerror}") from error


def _extended(recipe: Recipe, known: Mapping[str, Recipe], done: Mapping[str, Recipe], text: str) -> Recipe:
    """A recipe with all that it takes from the ones that it extends."""
    if recipe.extends is None:
        return recipe
    seen, parent = {recipe.name}, recipe.extends
    values = dict(recipe.values)
    while True:
        of_itself = parent == recipe.name and recipe.name in built_in()
        found = built_in()[parent] if of_itself else known.get(parent)
        line = line_of(text, ("extends",))
        if found is None:
            raise RecipeMistake(recipe.source, line, f"there is no recipe {parent!r} to extend")
        if parent in seen and not of_itself:
            raise RecipeMistake(recipe.source, line, f"{parent!r} extends itself")
        seen.add(parent)
        if found.extends is None:
            return _with_values(recipe, found, values, text)
        values, parent = {**found.values, **values}, found.extends


def _with_values(recipe: Recipe, found: Recipe, values: Mapping[str, object], text: str) -> Recipe:
    parameters = dict(found.parameters)
    for name, value in values.items():
        line = line_of(text, ("values", name))
        if name not in parameters:
            raise RecipeMistake(recipe.source, line, f"{found.name} has no parameter {name!r}")
        try:
            default = checked(name, parameters[name], value)  # type: ignore[arg-type]
        except ValueMistake as mistake:
            raise RecipeMistake(recipe.source, line, f"{name}: {mistake}") from mistake
        parameters[name] = msgspec.structs.replace(parameters[name], default=default)
    return msgspec.structs.replace(
        found, name=recipe.name, help=recipe.help or found.help, parameters=parameters, source=recipe.source,
        extends=found.name, secrets=recipe.secrets or found.secrets, values=dict(values),
    )  # fmt: skip
