"""The files that a search leaves: the table for programs and for people, and a first plan."""

from collections.abc import Sequence
from pathlib import Path

from engine.data.discovery.table import table_json, table_markdown
from engine.data.plan.records import Target
from engine.data.plan.writing import plan_of, plan_text
from engine.data.prepare.parts import write_whole
from state.records.data import DataSet

TABLE, MARKDOWN, PLAN = "table.json", "table.md", "plan.toml"


def write_results(folder: Path, name: str, sets: Sequence[DataSet]) -> None:
    """Write all three, each whole or not at all.

    Raises:
        OSError: The folder cannot be written.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    write_whole(folder / TABLE, table_json(sets))
    write_whole(folder / MARKDOWN, table_markdown(sets, f"Data sets found by the search {name}").encode())
    plan = plan_of(sets, name=name, total=None, target=Target(), benchmarks=(), shares={})
    write_whole(folder / PLAN, plan_text(plan, PLAN).encode())
