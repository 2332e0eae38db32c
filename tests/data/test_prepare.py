"""A plan from rows to shards: what is left out and why, the mix, the manifest."""

import json
import random
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner

from console.command_line.root import alula
from engine.data.prepare.manifest import Manifest
from engine.regen.reading import read_samples
from engine.regen.records import Sample
from tests.data.made import edited, output_bytes, prompt, records, write_jsonl, write_plan

TOKENIZER = Path(__file__).parents[2] / "engine/reference/checkpoint/target"
BENCHMARK = [
    {"task_id": f"HumanEval/{n}", "prompt": f'def f{n}(x):\n    """ {prompt(random.Random(n), 30)} """\n', "test": ""}
    for n in range(20)
]


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALULA_HOME", str(tmp_path / "home"))


def prepare(plan: Path, *arguments: str) -> tuple[int, Manifest | None, str]:
    """Run the command in this process."""
    command = ["data", "prepare", str(plan), "--output", str(plan.parent / "out"), "--here", "--workers", "1", "--json"]
    done = CliRunner().invoke(alula, [*command, *arguments], catch_exceptions=False)
    manifest = msgspec.json.decode(done.stdout, type=Manifest) if done.exit_code == 0 else None
    return done.exit_code, manifest, done.stderr


def prepared(plan: Path, *arguments: str) -> Manifest:
    code, manifest, said = prepare(plan, *arguments)
    assert code == 0, said
    assert manifest is not None
    return manifest


def one_source(folder: Path, rows: list[dict[str, Any]], rest: str = "", source: str = "") -> Path:
    write_jsonl(folder / "a.jsonl", rows)
    return write_plan(folder, f'name = "t"\n{rest}\n[[source]]\nname = "a"\npath = "a.jsonl"\n{source}')


def test_equal_and_nearly_equal_prompts_are_kept_once(tmp_path: Path) -> None:
    source = random.Random(1)
    texts = [prompt(source) for _ in range(50)]
    rows = [{"prompt": text} for text in texts]
    rows += [{"prompt": f"  {text.upper()} \r\n"} for text in texts[:10]]
    rows += [{"prompt": edited(source, text)} for text in texts[10:20]]
    manifest = prepared(one_source(tmp_path, rows))
    assert manifest.records == 50
    assert manifest.sources[0].left["exact duplicates"] == 60
    assert {one["kind"] for one in manifest.copies} == {"exact", "near"}
    assert sorted(row["messages"][0]["content"] for row in records(tmp_path / "out")) == sorted(texts)


def test_planted_copies_of_a_benchmark_are_caught(tmp_path: Path) -> None:
    source = random.Random(2)
    write_jsonl(tmp_path / "benchmark.jsonl", BENCHMARK)
    planted = [one["prompt"] for one in BENCHMARK]
    rows = [{"prompt": f"Please solve this:\n\n{text}\n{prompt(source, 80)}"} for text in planted[:8]]
    rows += [{"prompt": edited(source, text)} for text in planted[8:14]]
    rows += [{"task_id": "CPP/3", "prompt": prompt(source)}]
    rows += [{"prompt": prompt(source)} for _ in range(100)]
    plan = one_source(tmp_path, rows, '[decontamination]\nbenchmarks = ["benchmark.jsonl"]')
    manifest = prepared(plan)
    assert manifest.sources[0].dropped["benchmark_overlap"] == 14
    assert manifest.sources[0].dropped["benchmark_id"] == 1
    assert manifest.records == 100
    assert "HumanEval/0" in manifest.samples["benchmark_overlap"][0].message


def test_length_language_code_and_licence(tmp_path: Path) -> None:
    code = "```python\n" + "\n".join(f"value{n} = compute({n})" for n in range(20)) + "\n```"
    rows = [
        {"prompt": "Explain how a binary search tree stays balanced.", "license": "mit"},
        {"prompt": "Erkläre mir bitte, wie ein binärer Suchbaum ausgeglichen bleibt.", "license": "mit"},
        {"prompt": "Explain the difference between a queue and a stack.", "license": "gpl"},
        {"prompt": "Hi", "license": "mit"},
        {"prompt": "Explain this again and again. " * 200, "license": "mit"},
        {"prompt": code, "license": "mit"},
    ]
    filters = '[filters]\nlanguages = ["en"]\ncode = "none"\nlicences = ["MIT"]\nmin_tokens = 3\nmax_tokens = 1000'
    manifest = prepared(one_source(tmp_path, rows, f'[target]\ntokenizer = "{TOKENIZER}"\n{filters}'))
    assert manifest.sources[0].dropped == {"code_share": 1, "language": 1, "licence": 1, "too_long": 1, "too_short": 1}
    [kept] = records(tmp_path / "out")
    assert kept["language"] == "en"
    assert kept["tokens"] > 3
    assert kept["licence"] == "mit"


def test_the_mix_has_the_shares_of_the_plan_in_an_order_of_its_seed(tmp_path: Path) -> None:
    source = random.Random(3)
    for name in ("a", "b"):
        write_jsonl(tmp_path / f"{name}.jsonl", [{"prompt": prompt(source)} for _ in range(60)])
    text = """
name = "t"
total = 80
seed = {seed}
[output]
shard_rows = 30
[[source]]
name = "a"
path = "a.jsonl"
weight = 3
[[source]]
name = "b"
path = "b.jsonl"
quota = 20
"""
    first = prepared(write_plan(tmp_path, text.format(seed=1)))
    assert {one.name: one.left["mix"] for one in first.sources} == {"a": 60, "b": 20}
    assert [shard.records for shard in first.shards] == [30, 30, 20]
    before = output_bytes(tmp_path / "out")
    prepared(write_plan(tmp_path, text.format(seed=1)), "--restart")
    assert output_bytes(tmp_path / "out") == before
    one = records(tmp_path / "out")
    prepared(write_plan(tmp_path, text.format(seed=2)), "--restart")
    other = records(tmp_path / "out")
    assert [row["id"] for row in one] != [row["id"] for row in other]
    assert len({row["id"] for row in one}) == 80


def test_the_number_of_workers_changes_nothing(tmp_path: Path) -> None:
    source = random.Random(4)
    plan = one_source(tmp_path, [{"prompt": prompt(source, 20)} for _ in range(5000)])
    prepared(plan)
    before = output_bytes(tmp_path / "out")
    prepared(plan, "--restart", "--workers", "2")
    assert output_bytes(tmp_path / "out") == before


def test_records_in_tokens_pass_untouched_and_checked(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [
        {"id": "n1", "input_ids": [1, 2, 3], "loss_mask": [0, 1, 1], "extra": {"kept": True}},
        {"input_ids": [1, 2, 10**7], "loss_mask": [0, 1, 1]},
        {"input_ids": [1, -2], "loss_mask": [0, 1]},
        {"input_ids": [1, 2], "loss_mask": [1]},
        {"input_ids": [1, 2, 3], "loss_mask": [0, 1, 1]},
    ]
    settings = f'[target]\ntokenizer = "{TOKENIZER}"\n[faults]\nmost_bad_share = 0.9'
    plan = one_source(tmp_path, rows, settings, "native = true")
    manifest = prepared(plan)
    assert records(tmp_path / "out", "native") == rows[:1]
    assert (manifest.records, manifest.native_records) == (0, 1)
    assert manifest.sources[0].dropped == {"bad_native": 1, "outside_vocabulary": 2}


def test_records_in_tokens_need_the_targets_vocabulary(tmp_path: Path) -> None:
    code, _, said = prepare(one_source(tmp_path, [{"input_ids": [1], "loss_mask": [1]}], source="native = true"))
    assert code == 2
    assert "target.tokenizer" in json.loads(said)["error"]


def test_bad_rows_are_counted_and_shown(tmp_path: Path) -> None:
    rows = (
        b'{"prompt": "Good one here"}\n{"prompt": null}\n{broken\n{"prompt": ""}\n\xff\xff\n{"prompt": "Another one"}\n'
    )
    plan = one_source(tmp_path, [], "[faults]\nmost_bad_share = 0.9")
    (tmp_path / "a.jsonl").write_bytes(rows)
    manifest = prepared(plan)
    assert manifest.sources[0].dropped == {"bad_encoding": 1, "broken_json": 1, "empty_prompt": 1, "null_prompt": 1}
    assert manifest.samples["null_prompt"][0].row == 2
    assert manifest.records == 2


@pytest.mark.parametrize(
    ("faults", "said"), [('bad_rows = "stop"', "row 3"), ("most_bad_share = 0.2", "most_bad_share")]
)
def test_bad_rows_stop_where_the_plan_says_so(tmp_path: Path, faults: str, said: str) -> None:
    rows: list[dict[str, Any]] = [{"prompt": "a b c"}, {"prompt": "d e f"}, {"prompt": None}]
    code, _, text = prepare(one_source(tmp_path, rows, f"[faults]\n{faults}"))
    assert code == 2
    assert said in text


def test_a_missing_source_stops_or_is_left_out(tmp_path: Path) -> None:
    text = (
        'name = "t"\n{faults}\n[[source]]\nname = "a"\npath = "a.jsonl"\n[[source]]\nname = "b"\npath = "gone.jsonl"\n'
    )
    write_jsonl(tmp_path / "a.jsonl", [{"prompt": "Explain a tree"}])
    code, _, said = prepare(write_plan(tmp_path, text.format(faults="")))
    assert code == 2
    assert "gone.jsonl" in said
    manifest = prepared(write_plan(tmp_path, text.format(faults='[faults]\nunreachable = "skip"')), "--restart")
    assert manifest.records == 1
    assert "gone.jsonl" in (manifest.sources[1].skipped or "")


def test_an_unsure_shape_is_refused_until_it_is_mapped(tmp_path: Path) -> None:
    rows = [{"weird": "Some long question here"}]
    code, _, said = prepare(one_source(tmp_path, rows))
    assert code == 2
    assert "map = { prompt" in said
    assert prepared(one_source(tmp_path, rows, source='map = { prompt = "weird" }'), "--restart").records == 1


def test_another_plan_in_the_same_folder_is_refused(tmp_path: Path) -> None:
    rows = [{"prompt": "Explain a tree"}]
    prepared(one_source(tmp_path, rows))
    assert prepared(one_source(tmp_path, rows)).records == 1
    code, _, said = prepare(one_source(tmp_path, rows, "seed = 9"))
    assert code == 2
    assert "another plan" in said


def test_parquet_holds_the_same_records(tmp_path: Path) -> None:
    import pyarrow.parquet

    source = random.Random(5)
    rows = [{"prompt": prompt(source)} for _ in range(20)]
    prepared(one_source(tmp_path, rows))
    lines = records(tmp_path / "out")
    prepared(one_source(tmp_path, rows, '[output]\nformat = "parquet"'), "--restart")
    [path] = (tmp_path / "out").glob("*.parquet")
    assert pyarrow.parquet.read_table(path).to_pylist() == lines


def test_real_prompts_go_all_the_way_to_the_regeneration(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [{"turns": ["Write a poem about rivers.", "Now shorter."]}]
    rows += [{"messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "What is a heap?"}]}]
    write_jsonl(tmp_path / "b.jsonl", rows[1:])
    plan = one_source(tmp_path, rows[:1], source='[[source]]\nname = "b"\npath = "b.jsonl"')
    prepared(plan)
    [path] = (tmp_path / "out").glob("data-*.jsonl")
    samples = {sample.id: sample for _, sample in read_samples(path) if isinstance(sample, Sample)}
    assert {one.users for one in samples.values()} == {
        ("Write a poem about rivers.", "Now shorter."),
        ("What is a heap?",),
    }
    assert all(name.startswith(("a:", "b:")) for name in samples)
