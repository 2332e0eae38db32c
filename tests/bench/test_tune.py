"""The search: what it proposes, when it ends, and how it says so. Truths are chains with known rates and costs."""

import json
import shutil
from pathlib import Path

from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from console.command_line.bench import bench
from engine.bench.cells import read_plan
from engine.bench.comparison import compare_folder
from engine.bench.economics import Estimate
from engine.bench.plans import write_plan
from engine.bench.records import Load, Plan, Point, PromptSet
from engine.bench.tune import Candidate, Measured, advise
from engine.bench.tuning import advices, candidates_of, first_advices, next_point, tuned
from tests.bench.test_comparison import cell, plan, provenance

CHAINS = tuple(Candidate(name=f"s{steps}", family=("own",), num_steps=steps) for steps in range(1, 9))


def truth(steps: int, rate: float, fixed: float, step: float, error: float = 0.0) -> Measured:
    """A chain whose positions all stand with the same chance, measured with a relative error."""
    rates = [rate**place for place in range(1, steps + 1)]
    cost = fixed + step * steps
    speed = (1 + sum(rates)) / cost
    shown = tuple(around(one, error) for one in rates)
    return Measured(speedup=around(speed, error), round_cost=around(cost, error), accept_rates=shown)


def around(value: float, error: float) -> Estimate:
    return Estimate(value, value * (1 - error), value * (1 + error))


def search(rate: float, fixed: float, step: float, error: float = 0.01) -> tuple[list[str], str, float]:
    """Measure what is proposed until nothing is."""
    measured: dict[str, Measured] = {}
    while (advice := advise("c1", CHAINS, measured)).next:
        assert advice.next not in measured
        measured[advice.next] = truth(int(advice.next[1:]), rate, fixed, step, error)
    return list(measured), advice.best, advice.best_speedup


def test_the_longest_chain_comes_first_and_says_why() -> None:
    advice = advise("c1", CHAINS, {})
    assert advice.next == "s8"
    assert "longest chain first" in advice.why


def test_a_good_draft_is_searched_in_fewer_launches_than_there_are_points() -> None:
    order, _, speed = search(rate=0.75, fixed=1.05, step=0.12)
    everything = {steps: truth(steps, 0.75, 1.05, 0.12).speedup.value for steps in range(1, 9)}
    assert speed >= max(everything.values()) / 1.02
    assert len(order) <= 5, order


def test_a_draft_that_never_pays_is_given_up_after_few() -> None:
    order, best, speed = search(rate=0.2, fixed=1.6, step=0.3)
    assert (best, speed) == ("", 1.0)
    assert len(order) <= 3, order


@settings(max_examples=60, deadline=None)
@given(st.floats(0.05, 0.95), st.floats(1.0, 2.0), st.floats(0.01, 0.5), st.floats(0.001, 0.05))
def test_what_it_ends_with_is_the_best_within_the_gain(rate: float, fixed: float, step: float, error: float) -> None:
    _, _, speed = search(rate, fixed, step, error)
    best = max(1.0, *(truth(steps, rate, fixed, step).speedup.value for steps in range(1, 9)))
    assert speed >= best / 1.021


def test_trees_and_other_families_are_tried_since_nothing_foretells_them() -> None:
    tree = Candidate(name="tree", family=("own",), num_steps=3, topk=4)
    other = Candidate(name="other-s3", family=("other",), num_steps=3)
    measured = {"s3": truth(3, 0.6, 1.2, 0.1)}
    outlooks = advise("c1", [CHAINS[2], tree, other], measured).outlooks
    assert [one.speedup is None for one in outlooks] == [False, True, True]
    assert advise("c1", [tree], {}).why == "nothing foretells it; it has to be tried"
    done = advise("c1", [CHAINS[2], tree, other], measured, frozenset({"tree", "other-s3"}))
    assert done.next == ""
    assert "every configuration was tried" in done.why


def launched(*names: str, family: str = "draft") -> Plan:
    def point(name: str) -> Point:
        words = ("serve", "--speculative-draft-model-path", family, f"--speculative-num-steps={name[-1]}")
        words += ("--speculative-eagle-topk", "1", "--speculative-num-draft-tokens", f"{int(name[-1]) + 1}")
        return Point(name=name, command=("serve",) if name == "baseline" else words)

    points = tuple(point(name) if name != "baseline" else Point(name=name, command=("serve",)) for name in names)
    return Plan(
        name="search", kind="tune", points=points, baseline="baseline", loads=(Load(concurrency=1),),
        prompts=PromptSet(path="prompts.jsonl"),
    )  # fmt: skip


def test_points_that_differ_in_length_alone_are_one_family(tmp_path: Path) -> None:
    wanted = launched("baseline", "s1", "s3")
    write_plan(tmp_path, wanted)
    one, three = candidates_of(wanted, compare_folder(tmp_path))
    assert one.family == three.family
    assert (one.num_steps, three.num_steps, three.topk) == (1, 3, 1)


def test_the_baseline_is_measured_first(tmp_path: Path) -> None:
    wanted = launched("baseline", "s1", "s3")
    write_plan(tmp_path, wanted)
    first = next_point(wanted, compare_folder(tmp_path), set())
    assert first is not None and first.name == "baseline"
    assert first_advices(wanted, 0.02)[0].next == "baseline"
    cell(tmp_path, "baseline", 90.0)
    second = next_point(wanted, compare_folder(tmp_path), {"baseline"})
    assert second is not None and second.name == "s3"
    assert next_point(wanted, compare_folder(tmp_path), {"baseline", "s1", "s3"}) is None
    assert tuned(tmp_path).advice == (f"c1: next s3: {advices(wanted, compare_folder(tmp_path))[0].why}",)


def test_servers_that_run_already_get_advice_on_other_lengths(tmp_path: Path) -> None:
    write_plan(tmp_path, plan("baseline", "eagle3-s3"))
    cell(tmp_path, "baseline", 90.0)
    cell(tmp_path, "eagle3-s3", 99.0, 2.5)
    provenance(tmp_path, "eagle3-s3", steps=3)
    said = CliRunner().invoke(bench, ["tune", str(tmp_path), "--json"])
    assert said.exit_code == 0, said.output
    (advice,) = json.loads(said.output)
    assert {one["num_steps"] for one in advice["outlooks"]} == {1, 2, 3, 4, 5}
    words = CliRunner().invoke(bench, ["tune", str(tmp_path)]).output
    assert "measured" in words and ("next:" in words or "done:" in words)
    assert read_plan(tmp_path).kind == "run"


def test_what_cannot_be_tuned_is_said(tmp_path: Path) -> None:
    nothing = CliRunner().invoke(bench, ["tune", str(tmp_path / "nothing")])
    assert nothing.exit_code == 2
    assert "there is no benchmark" in nothing.output
    unplanned = CliRunner().invoke(bench, ["tune", str(tmp_path), "--run"])
    assert unplanned.exit_code == 2
    assert "takes a sweep file" in unplanned.output
    shutil.rmtree(tmp_path)
