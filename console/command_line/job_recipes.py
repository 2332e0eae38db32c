"""`alula jobs recipes`: what can be launched, and how."""

import sys

import click

from console.command_line.live_view import could_not, to_json
from state.errors import StateError


@click.command()
@click.argument("name", required=False)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def recipes(name: str | None, as_json: bool) -> None:
    """List all recipes, or explain one with its parameters.

    Recipes of your own lie in the folder that the list ends with. One with a mistake is named with file, line and
    reason, and exit code 1; the others still load.

    Example: alula jobs recipes sglang-eagle3
    """
    from console.command_line.job_recipe_views import list_lines, recipe_lines, record_of
    from engine.jobs.recipes.catalogue import load_catalogue

    catalogue = load_catalogue()
    if name is not None:
        try:
            recipe = catalogue.find(name)
        except StateError as error:
            sys.exit(could_not(error, as_json=as_json))
        click.echo(to_json(record_of(recipe)) if as_json else "\n".join(recipe_lines(recipe)))
        return
    if as_json:
        mistakes = [{"file": one.source, "line": one.line, "reason": one.reason} for one in catalogue.mistakes]
        click.echo(to_json({"recipes": list(map(record_of, catalogue.recipes.values())), "mistakes": mistakes}))
    else:
        click.echo("\n".join(list_lines(catalogue)))
    sys.exit(1 if catalogue.mistakes else 0)
