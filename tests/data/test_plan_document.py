"""The page about a plan: figures from recorded state, versions, texts from outside."""

import json
from contextlib import closing
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner

from console.command_line.root import alula
from engine.data.plan.document import Price, Recorded, Speed, document_of, records_of
from engine.data.plan.editing import parts_of_plan, with_share
from engine.data.plan.reading import parse_plan
from engine.data.plan.records import Plan, PlanSource
from state.data import read_preparations
from state.database import open_database
from state.folder import state_folder
from state.records.data import DataPreparation
from tests.data.made import write_plan
from tests.data.seeded import SETS, add_work

PLAN = parse_plan(
    """
name = "ten times"
total = 88088
[[source]]
name = "own"
path = "own.jsonl"
quota = 4800
native = true
[[source]]
name = "codeforces"
hub = "open-r1/codeforces"
weight = 3
[[source]]
name = "a|b`c"
path = "b.jsonl"
weight = 1
""".replace("ten times", "ten-times")
)


def test_times_and_costs_follow_from_speed_and_price() -> None:
    recorded = Recorded(speed=Speed(830, 900, "as told"), price=Price(8, 2.5, "USD"))
    page = document_of(PLAN, recorded, "now")
    assert records_of(PLAN, None) == (83288, "as the plan wants")
    assert "83,288" in page
    assert "25.1 h: 74,959,200 tokens at 830 tokens/s" in page
    assert "200.7 GPU h on 8 GPUs, 501.73 USD" in page


def test_what_is_not_known_is_not_guessed() -> None:
    page = document_of(msgspec.structs.replace(PLAN, total=None, source=PLAN.source[1:]), Recorded(), "now")
    assert "Nothing is prepared yet." in page
    assert "regeneration: not known" in page


def test_a_set_is_told_with_its_reason_and_names_end_no_cell() -> None:
    page = document_of(PLAN, Recorded(sets={one.id: one for one in SETS}), "now")
    assert "codeforces: fit 0.83. code problems with examples" in page
    assert "| a/b'c |" in page


def test_counts_come_from_the_preparation_and_versions_are_never_written_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ALULA_HOME", str(tmp_path / "home"))
    path = write_plan(tmp_path, 'name = "t"\n[[source]]\nname = "codeforces"\npath = "a.jsonl"\n')
    with closing(open_database(state_folder().database_path)) as database:
        add_work(database, tmp_path)
        assert read_preparations(database)[0].plan_path == str(path)
    for version in (1, 2):
        done = CliRunner().invoke(alula, ["data", "plan", "--document", str(path), "--json"], catch_exceptions=False)
        assert done.exit_code == 0
        assert json.loads(done.stdout)["file"].endswith(f"train_plan_v{version}.md")
    page = (tmp_path / "train_plan_v1.md").read_text()
    assert "| near-duplicates | 885,000 | 87,000 near duplicate |" in page
    assert "prompts to be answered: 88,088 (counted by the preparation)" in page


@pytest.mark.parametrize("arguments", [["--price", "3"], ["--tokens-per-s", "3"]])
def test_half_of_a_pair_is_refused(tmp_path: Path, arguments: list[str]) -> None:
    path = write_plan(tmp_path, 'name = "t"\n[[source]]\nname = "a"\npath = "a.jsonl"\n')
    assert CliRunner().invoke(alula, ["data", "plan", "--document", str(path), *arguments]).exit_code == 2


def test_a_running_preparation_counts_nothing_yet() -> None:
    running = DataPreparation(name="t", run_folder="w", plan_path="p", output_folder="o", created_at=0)
    assert records_of(PLAN, running)[0] == 83288


def test_shares_keep_their_sum() -> None:
    plan = Plan(name="t", total=1000, source=tuple(PlanSource(name=name, path=name, weight=1) for name in "abc"))
    moved = with_share(plan, "a", 0.5)
    assert [part.records for part in parts_of_plan(moved)] == [500, 250, 250]
    emptied = with_share(moved, "a", -1)
    assert [part.records for part in parts_of_plan(emptied)] == [0, 500, 500]
    alone = with_share(emptied, "b", 2)
    assert [part.records for part in parts_of_plan(alone)] == [0, 1000, 0]
    assert [part.records for part in parts_of_plan(with_share(alone, "b", 0.8))] == [100, 800, 100]
