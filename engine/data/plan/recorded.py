"""Gathers from the state database what a plan's document tells beside the plan."""

import sqlite3
from pathlib import Path

from engine.data.catalogue.catalogue import catalogue
from engine.data.plan.document import Price, Recorded, Speed
from state.data import read_preparations, read_searches
from state.records.data import DataPreparation, DataSet
from state.regenerations import latest_progress, read_regenerations


def recorded_for(
    database: sqlite3.Connection, plan_path: Path, speed: Speed | None = None, price: Price | None = None
) -> Recorded:
    """The newest preparation of the plan, what is known of its sets, and the speed of the newest regeneration.

    Args:
        speed: In place of a recorded one.
    """
    preparation = _preparation(database, plan_path)
    return Recorded(preparation=preparation, sets=_sets(database), speed=speed or _speed(database), price=price)


def _preparation(database: sqlite3.Connection, plan_path: Path) -> DataPreparation | None:
    whole = str(plan_path.absolute())
    return next((one for one in read_preparations(database) if one.plan_path == whole), None)


def _sets(database: sqlite3.Connection) -> dict[str, DataSet]:
    """Newer searches count more than older ones, and all of them more than the catalogue."""
    found = {one.id: one for one in catalogue()}
    for search in reversed(read_searches(database)):
        found.update({one.id: one for one in search.sets})
    return found


def _speed(database: sqlite3.Connection) -> Speed | None:
    for run in read_regenerations(database):
        progress = latest_progress(database, run.id)
        if progress is not None and progress.done and progress.tokens_per_s_overall:
            mean = progress.completion_tokens / progress.done
            return Speed(progress.tokens_per_s_overall, mean, f"as measured by the regeneration {run.name}")
    return None
