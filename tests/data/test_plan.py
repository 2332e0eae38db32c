"""Plans: written from a table, read back, mistakes refused with their place, shares that come out whole."""

from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from console.command_line.root import alula
from engine.data.catalogue.benchmarks import benchmark_of, is_problem_id
from engine.data.catalogue.catalogue import catalogue
from engine.data.plan.reading import parse_plan, read_plan
from engine.data.plan.records import PlanError, PlanSource, Target
from engine.data.plan.shares import shares
from engine.data.plan.writing import plan_of, plan_text, weights_of

GOOD = """
name = "trial"
total = 100

[filters]
min_tokens = 2

[[source]]
name = "a"
path = "a.jsonl"
weight = 1

[[source]]
name = "b"
hub = "open-r1/codeforces"
quota = 5
map = { prompt = "description" }
"""


def test_a_plan_is_read_with_paths_of_its_own_folder(tmp_path: Path) -> None:
    (tmp_path / "plan.toml").write_text(GOOD)
    plan = read_plan(tmp_path / "plan.toml")
    assert plan.source[0].path == str(tmp_path / "a.jsonl")
    assert plan.source[1].map is not None and plan.source[1].map.prompt == "description"


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("total = 100", "totl = 100", "plan:3: totl: Object contains unknown field `totl`"),
        ("total = 100", 'total = "many"', "plan:3: total: Expected `int | null`, got `str`"),
        ("total = 100", "total = = 1", "plan: not TOML"),
        ("total = 100", "total = 0", "plan:3: total: is not positive"),
        ("min_tokens = 2", "min_tokens = 20000", "plan:6: filters.min_tokens: is not between"),
        ("quota = 5", "quota = 5\nweight = 2", "plan:16: source[1].quota: stands beside a weight"),
        ("quota = 5", "quota = -5", "plan:16: source[1].quota: is negative"),
        ("quota = 5", "quoat = 5", "plan:16: source[1].quoat: Object contains unknown field"),
        ('name = "b"', 'name = "a"', "plan:14: source[1].name: there is a source 'a' already"),
        ("total = 100", "", "plan:11: source[0].weight: has no total to be a part of"),
        ("open-r1/codeforces", "nuprl/MultiPL-E", "plan:15: source[1].hub: is the benchmark multipl-e"),
        ('path = "a.jsonl"', "", "plan:9: source[0].name: needs path or hub"),
        ("description", 'description", prompts = "x', "source[1].map.prompts: Object contains unknown field"),
    ],
)
def test_a_mistake_is_refused_with_its_place(old: str, new: str, said: str) -> None:
    with pytest.raises(PlanError) as caught:
        parse_plan(GOOD.replace(old, new))
    assert said in str(caught.value)
    assert caught.value.remedy


def test_a_written_plan_reads_back_the_same() -> None:
    plan = plan_of(
        catalogue(), name="x", total=88_000, target=Target(tokenizer="t"), benchmarks=["humaneval"],
        shares={"competitive programming": 0.3}, seed=5,
    )  # fmt: skip
    assert parse_plan(plan_text(plan, "plan.toml")) == plan
    assert sum(one.weight or 0 for one in plan.source) == pytest.approx(1, abs=0.001)
    assert not any(benchmark_of(one.hub or "") for one in plan.source)


def test_the_catalogue_names_a_source_for_its_facts() -> None:
    assert len(catalogue()) == 10
    for one in catalogue():
        told = [name for name in ("rows", "bytes", "licence", "columns") if getattr(one, name)]
        assert set(told) <= one.sources.keys(), one.id
        assert (one.access == "unknown") == ("access" not in one.sources), one.id
        assert one.benchmark == (benchmark_of(one.id) is not None), one.id


def test_problems_of_benchmarks_are_known_by_their_ids() -> None:
    for text in ("HumanEval/12", "CPP/3", "HumanEval_0_has_close_elements", "mbpp_3_is_not_prime"):
        assert is_problem_id(text), text
    for text in ("1/A", "12", "humaneval-like", "", None):
        assert not is_problem_id(text), text


SOURCES = st.lists(
    st.tuples(st.integers(0, 500), st.none() | st.integers(0, 300), st.floats(0, 5)), min_size=1, max_size=6
)


@given(SOURCES, st.none() | st.integers(1, 2000))
def test_shares_take_no_more_than_there_is_and_fill_the_total(
    found: list[tuple[int, int | None, float]], total: int | None
) -> None:
    sources = [
        PlanSource(name=str(n), path="x", quota=quota, weight=None if quota is not None else weight)
        for n, (_, quota, weight) in enumerate(found)
    ]
    available = {str(n): count for n, (count, _, _) in enumerate(found)}
    taken = shares(sources, available, total)
    assert all(0 <= taken[name] <= available[name] for name in available)
    open_room = sum(available[one.name] for one in sources if one.quota is None and (one.weight or 0) > 0)
    fixed = sum(min(one.quota, available[one.name]) for one in sources if one.quota is not None)
    if total is not None:
        assert sum(taken.values()) == fixed + min(max(0, total - fixed), open_room)


def test_weights_divide_a_domains_part_by_fit() -> None:
    weights = weights_of([one for one in catalogue() if one.kept], {"coding challenges": 0.5})
    assert weights["PrimeIntellect/verifiable-coding-problems"] + weights[
        "kaysss/leetcode-problem-solutions"
    ] == pytest.approx(0.5, abs=0.001)


def test_the_command_writes_once_and_says_what_is_wrong(tmp_path: Path) -> None:
    def run(*arguments: str) -> tuple[int, str, str]:
        done = CliRunner().invoke(alula, ["data", "plan", *arguments, "--output", str(tmp_path / "plan.toml")])
        return done.exit_code, done.stdout, done.stderr

    assert run("--present", "8800")[0] == 0
    assert read_plan(tmp_path / "plan.toml").total == 88_000
    assert run()[0] == 2
    assert run("--force", "--share", "mathematics=2")[0] == 2
    broken = tmp_path / "table.json"
    broken.write_text("{")
    assert run("--force", "--from", str(broken))[0] == 2
