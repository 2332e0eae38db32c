"""Figures and comparisons of run folders that are written by hand, so that every result is known."""

import json
import random
from pathlib import Path
from typing import Any

import pytest

from engine.bench.cells import CellFile, cell_name, cell_path, write_json
from engine.bench.comparison import compare_folder, compare_folders
from engine.bench.economics import verdict
from engine.bench.equality import compare_texts, divergence, judge
from engine.bench.pairing import paired_ratio
from engine.bench.plans import validate, write_plan
from engine.bench.records import (
    BenchError,
    CellEnd,
    ClientCost,
    Load,
    Plan,
    Point,
    PromptSet,
    Provenance,
    RequestRecord,
)
from engine.bench.report.files import FORMS, write_report
from engine.bench.report.words import sentences, table

LOAD = Load(concurrency=1)
CALM = ClientCost(cpu_s=0.1, wall_s=10, requests=40, loop_lag_p50_s=0, loop_lag_p99_s=0, loop_lag_max_s=0)


def plan(*names: str, repeats: int = 1, **more: Any) -> Plan:
    points = tuple(Point(name=name, url="http://127.0.0.1:1") for name in names)
    return Plan(name="story", points=points, baseline=names[0], loads=(LOAD,), repeats=repeats,
                prompts=PromptSet(path="/none"), **more)  # fmt: skip


def cell(
    folder: Path, point: str, tokens_per_s: float, accept_length: float | None = None, repeat: int = 0,
    spread: float = 0.2, load: Load = LOAD, **end: Any,
) -> None:  # fmt: skip
    """40 requests of 100 tokens. Each prompt is slow or fast for every configuration alike."""
    drawn = random.Random(1)
    name = cell_name(point, load, repeat)
    file = CellFile(folder, name)
    seconds = 0.0
    for number in range(40):
        took = 99 / tokens_per_s * drawn.uniform(1 - spread, 1 + spread)
        seconds += took
        rounds = round(100 / accept_length) if accept_length else None
        histogram = (rounds - (100 - rounds), 100 - rounds) if rounds else ()
        file.keep(
            RequestRecord(
                prompt=f"p{number}", started_s=seconds, ttft_s=0.001, e2e_s=0.001 + took, completion_tokens=100,
                verifications=rounds, histogram=histogram, text=f"answer {number}",
            ),
            None,
        )  # fmt: skip
    file.close()
    ended = CellEnd(point=point, load=load, repeat=repeat, began_at=0.0, wall_s=seconds, client=CALM, **end)
    write_json(cell_path(folder, name, "end.json"), ended)


def provenance(folder: Path, point: str, steps: int | None = None, void: str = "") -> None:
    info = {"speculative_num_steps": steps, "speculative_eagle_topk": 1, "speculative_draft_model_path": "/d"}
    write_json(folder / "points" / f"{point}.json", Provenance(url="u", server_info=info if steps else {}, void=void))


@pytest.fixture
def story(tmp_path: Path) -> Path:
    write_plan(tmp_path, plan("baseline", "eagle3", "other"))
    cell(tmp_path, "baseline", 90.0)
    cell(tmp_path, "eagle3", 82.3, 1.9)
    cell(tmp_path, "other", 50.5)
    provenance(tmp_path, "eagle3", steps=1)
    return tmp_path


def test_the_table_of_the_story(story: Path) -> None:
    found = compare_folder(story)
    baseline, eagle3, other = found.rows
    assert baseline.is_baseline and baseline.best
    assert eagle3.ratio is not None and eagle3.ratio.value == pytest.approx(82.3 / 90, rel=0.01)
    assert eagle3.ratio.high is not None and eagle3.ratio.high < 0.92, "pairing takes the prompts' own spread out"
    assert (eagle3.verdict, other.verdict) == ("slower", "slower")
    assert eagle3.economics is not None
    assert eagle3.economics.round_cost.value == pytest.approx(1.89 * 90 / 82.3, rel=0.02)
    assert verdict(eagle3.economics).startswith("needs accept length over 2.0")
    assert other.economics is None, "no accept length, no break-even"
    said = "\n".join(sentences(found))
    assert "c1: nothing beats the baseline" in said
    assert [cells[0] for cells in table(found)] == ["baseline *", "eagle3", "other"]


def test_a_tie_is_called_a_tie(tmp_path: Path) -> None:
    write_plan(tmp_path, plan("baseline", "same"))
    cell(tmp_path, "baseline", 90.0)
    cell(tmp_path, "same", 90.0, 2.0)
    row = compare_folder(tmp_path).rows[1]
    assert row.verdict == "tie"


def test_a_void_configuration_never_wins(tmp_path: Path) -> None:
    write_plan(tmp_path, plan("baseline", "simulated"))
    cell(tmp_path, "baseline", 90.0)
    cell(tmp_path, "simulated", 300.0, 4.0)
    provenance(tmp_path, "simulated", steps=3, void="acceptance is simulated")
    found = compare_folder(tmp_path)
    assert [row.best for row in found.rows] == [True, False]
    assert not any(row.pareto for row in found.rows if row.void)
    assert "simulated is void: acceptance is simulated" in sentences(found)


def test_energy_comes_from_measured_power(tmp_path: Path) -> None:
    write_plan(tmp_path, plan("baseline", "fast"))
    cell(tmp_path, "baseline", 100.0, power_w=400.0)
    cell(tmp_path, "fast", 200.0, 2.5, power_w=500.0)
    baseline, fast = compare_folder(tmp_path).rows
    assert baseline.summary.tokens_per_joule == pytest.approx(100 / 400, rel=0.05)
    assert fast.savings is not None and fast.savings.saved_kwh == pytest.approx(24 * 0.4 - 12 * 0.5, rel=0.05)


def test_an_unsteady_machine_is_told(tmp_path: Path) -> None:
    write_plan(tmp_path, plan("baseline", "eagle3", repeats=2))
    for repeat, speed in enumerate((100.0, 60.0)):
        cell(tmp_path, "baseline", speed, repeat=repeat)
        cell(tmp_path, "eagle3", speed * 1.2, 2.0, repeat=repeat)
    found = compare_folder(tmp_path)
    assert found.rows[1].ratio is not None and found.rows[1].ratio.value == pytest.approx(1.2, rel=0.02)
    assert any("the machine was not steady" in note for note in found.notes)


def test_two_runs_are_compared_by_their_prompts(tmp_path: Path) -> None:
    for name, speed in (("plain", 100.0), ("eagle3", 150.0)):
        folder = tmp_path / name
        one = Plan(
            name=name, points=(Point(name="server", url="http://h:1"),), loads=(LOAD,), prompts=PromptSet(path="/none")
        )
        write_plan(folder, one)
        cell(folder, "server", speed, 2.2 if name == "eagle3" else None)
    found = compare_folders([tmp_path / "plain", tmp_path / "eagle3"])
    assert [row.name for row in found.rows] == ["plain", "eagle3"]
    assert found.rows[1].verdict == "faster"


def test_pairs_need_the_same_prompt() -> None:
    own = {(0, "a"): (100.0, 1.0), (0, "b"): (100.0, 4.0)}
    other = {(0, "b"): (100.0, 8.0), (0, "c"): (100.0, 1.0)}
    found = paired_ratio(own, other)
    assert found is not None and found.value == pytest.approx(2.0)
    assert paired_ratio(own, {(0, "z"): (1.0, 1.0)}) is None


def test_answers_that_part_are_found_and_judged(tmp_path: Path) -> None:
    write_plan(tmp_path, plan("baseline", "eagle3"))
    cell(tmp_path, "baseline", 90.0)
    cell(tmp_path, "eagle3", 90.0)
    path = cell_path(tmp_path, cell_name("eagle3", LOAD, 0), "jsonl")
    path.write_text(path.read_text().replace("answer 7", "answer seven"))
    found = compare_texts(tmp_path, plan("baseline", "eagle3"), "eagle3", LOAD)
    assert found is not None and (found.compared, found.equal) == (40, 39)
    (one,) = found.divergences
    assert (one.at_character, one.baseline, one.own) == (7, "7", "seven")


@pytest.mark.parametrize(
    ("candidates", "expected"),
    [
        ([(-0.70, " blue"), (-0.72, " red")], "tie"),
        ([(-0.01, " blue"), (-6.2, " red")], "fault"),
        ([(-0.01, " blue")], "unknown"),
    ],
)
def test_a_margin_tells_a_tie_from_a_fault(candidates: list[tuple[float, str]], expected: str) -> None:
    parted = divergence("p", "the sky is blue today", "the sky is red today")
    one = divergence("p", parted.baseline and "the sky is" + " blue today", "the sky is" + " red today")
    whole = type(one)(prompt="p", at_character=10, of_characters=20, baseline=" blue today", own=" red today")
    assert judge(whole, candidates).verdict == expected


@pytest.mark.parametrize("suffix", FORMS)
def test_exports_hold_every_row_and_need_nothing_else(suffix: str, story: Path, tmp_path: Path) -> None:
    path = tmp_path / f"report{suffix}"
    write_report(compare_folder(story), path)
    text = path.read_text()
    assert all(name in text for name in ("baseline", "eagle3", "other"))
    assert "http://www" not in text and "<script" not in text and "src=" not in text
    if suffix == ".jsonl":
        assert [json.loads(line)["name"] for line in text.splitlines()] == ["baseline", "eagle3", "other"]
    if suffix == ".html":
        assert text.count("<svg") >= 3


def test_names_cannot_break_a_report(tmp_path: Path) -> None:
    write_plan(tmp_path, plan("baseline"))
    cell(tmp_path, "baseline", 90.0)
    write_json(tmp_path / "points" / "baseline.json", Provenance(url="u", model="<script>alert(1)</script>|x"))
    found = compare_folder(tmp_path)
    assert "<script>" not in FORMS[".html"](found)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"baseline": "none"}, "none of the points"),
        ({"loads": ()}, "nothing to measure"),
        ({"loads": (Load(concurrency=1, rate=2.0),)}, "a concurrency or a rate"),
        ({"loads": (Load(concurrency=0),)}, "concurrency of 0"),
        ({"loads": (LOAD, LOAD)}, "given twice"),
        ({"points": (Point(name="baseline"),)}, "needs a url or a command"),
        ({"points": (Point(name="../up", url="u"),)}, "cannot be used"),
        ({"repeats": 0}, "1 or more"),
    ],
)
def test_a_plan_that_cannot_be_carried_out_is_refused(change: dict[str, Any], words: str) -> None:
    import msgspec

    with pytest.raises(BenchError, match=words):
        validate(msgspec.structs.replace(plan("baseline"), **change))
