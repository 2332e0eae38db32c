"""What a recipe says of its job's log, as the patterns that `engine.jobs.log_metrics` looks for."""

import re

from engine.jobs.recipes.records import Metric, Recipe


def patterns_of(recipe: Recipe | None) -> tuple[re.Pattern[str], ...]:
    """Metrics and progress. The group `value` takes the metric's name."""
    if recipe is None:
        return ()
    return tuple(re.compile(text) for text in (*map(_named, recipe.metrics), *recipe.progress))


def units_of(recipe: Recipe | None) -> dict[str, str]:
    """Units by the figures' names."""
    return {figure_name(one): one.unit for one in recipe.metrics if one.unit} if recipe else {}


def figure_name(metric: Metric) -> str:
    """Its name as that of a group in a pattern: letters, digits, `_`."""
    name = re.sub(r"\W+", "_", metric.name).strip("_")
    return name if name.isidentifier() else f"figure_{name}"


def _named(metric: Metric) -> str:
    name = figure_name(metric)
    return metric.pattern.replace("(?P<value>", f"(?P<{name}>").replace("(?P=value)", f"(?P={name})")
