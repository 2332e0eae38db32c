"""Benchmark commands, results and logs as operators have them, through the whole checker."""

import json
from pathlib import Path

import pytest

from engine.check.collect import Collection
from engine.check.report.json_report import json_report
from engine.check.report.text_report import text_report, verdict
from engine.check.sources.benchmarks import read_results
from tests.check.models import incident_folder

SERVER = """python3 -m sglang.launch_server --model-path {target} --speculative-algorithm EAGLE3 \\
  --speculative-draft-model-path {draft} &
"""
SOUND = "python3 -m sglang.bench_serving --dataset-name sharegpt --disable-ignore-eos --apply-chat-template\n"
START = "server_args=ServerArgs(model_path='/m', speculative_algorithm='EAGLE3', speculative_num_draft_tokens=4)\n"


@pytest.fixture
def models(tmp_path: Path) -> dict[str, str]:
    target, draft = incident_folder(tmp_path / "models")
    return {"{target}": str(target), "{draft}": str(draft)}


def rules_of(path: Path, text: str, models: dict[str, str] | None = None) -> set[str]:
    for name, place in (models or {}).items():
        text = text.replace(name, place)
    path.write_text(text)
    collection = Collection()
    collection.add_file(str(path))
    outcome = collection.outcome()
    assert not outcome.unchecked
    json_report(outcome)
    for one in outcome.checked:
        text_report(one)
    return {finding.rule for one in outcome.checked for finding in one.findings}


@pytest.mark.parametrize(
    ("bench", "rules"),
    [
        (SOUND, set()),
        ("python -m sglang.bench_serving --dataset-name=random --num-prompts 8\n", {"bench-unrepresentative"}),
        ("DATA=random-ids\npython -msglang.benchmark.serving \\\n --dataset-name $DATA\n", {"bench-unrepresentative"}),
        ("python3 -m sglang.bench_serving --backend sglang-oai-chat --disable-ignore-eos\n", set()),
        ("echo python3 -m sglang.bench_serving --dataset-name random\n", set()),
        ("python3 -m sglang.bench_serving $ARGS\n", {"bench-unrepresentative"}),
    ],
)
def test_a_server_and_its_benchmark_in_one_script(
    bench: str, rules: set[str], tmp_path: Path, models: dict[str, str]
) -> None:
    found = rules_of(tmp_path / "run.sh", SERVER + bench, models)
    assert {rule for rule in found if rule.startswith("bench-")} == rules


def test_a_tool_that_starts_its_own_servers(tmp_path: Path, models: dict[str, str]) -> None:
    run = "python3 scripts/playground/bench_speculative.py --model-path {target} --speculative-draft-model-path {draft}"
    assert "bench-tool-hardcodes-algorithm" in rules_of(tmp_path / "a.sh", f"{run} --steps 3\n", models)
    newer = f"{run} --speculative-algorithm EAGLE3\n"
    assert "bench-tool-hardcodes-algorithm" not in rules_of(tmp_path / "b.sh", newer, models)
    specforge = run.replace("scripts/playground/bench_speculative.py", "bench_eagle3.py")
    assert "bench-tool-hardcodes-algorithm" not in rules_of(tmp_path / "c.sh", f"{specforge}\n", models)


def test_a_benchmark_alone_as_a_command() -> None:
    collection = Collection()
    collection.add_command(["python3", "-m", "sglang.bench_serving", "--dataset-name", "random"])
    (one,) = collection.outcome().checked
    assert [finding.rule for finding in one.findings] == ["bench-unrepresentative"]


@pytest.mark.parametrize(("length", "found"), [(2.5, True), (2.61, False), (None, False), (-1, False), (True, False)])
def test_a_result_file(length: object, found: bool, tmp_path: Path) -> None:
    state = {"internal_states": [{"avg_spec_accept_length": 2.5}, {"avg_spec_accept_length": 2.7}]}
    rows = [{"dataset_name": "custom", "completed": 8, "accept_length": length, "server_info": state}] * 2
    rules = rules_of(tmp_path / "result.jsonl", "\n".join(map(json.dumps, rows)))
    assert ("live-accept-window" in rules) == found


@pytest.mark.parametrize("text", ["{", "{}", "[1]", '{"a": 1}\n{"b": 2}', "{" * 50_000, '{"completed": 1}'])
def test_other_json_is_no_result(text: str) -> None:
    assert read_results(text, "x") == []


def lines(*parts: tuple[float, float, int, int]) -> str:
    return "".join(
        f"[2026-12-01 01:00:{index % 60:02d}] Decode batch, #running-req: {batch}, #token: 900, token usage: 0.01, "
        f"accept len: {length:.2f}, accept rate: {rate:.2f}, cuda graph: True, gen throughput (token/s): 200.1, "
        "#queue-req: 0\n"
        for length, rate, batch, count in parts
        for index in range(count)
    )


def test_logs(tmp_path: Path) -> None:
    steady = START + lines((2.5, 0.5, 4, 60))
    assert "live-accept-length-drop" not in rules_of(tmp_path / "steady.log", steady)
    assert "accept-rate-scale" in rules_of(tmp_path / "steady.log", steady)
    fallen = START + lines((2.5, 0.5, 4, 60), (1.6, 0.2, 4, 20))
    assert "live-accept-length-drop" in rules_of(tmp_path / "fallen.log", fallen)
    other_load = START + lines((2.5, 0.5, 1, 60), (1.6, 0.2, 40, 20))
    assert "live-accept-length-drop" not in rules_of(tmp_path / "load.log", other_load)
    neither = START + lines((2.5, 0.9, 4, 60))
    assert "accept-rate-scale" not in rules_of(tmp_path / "neither.log", neither)


def test_the_only_log_belongs_to_the_only_launch(tmp_path: Path, models: dict[str, str]) -> None:
    (tmp_path / "server.log").write_text(lines((1.0, 0.0, 4, 20)))
    script = SERVER.replace("EAGLE3", "EAGLE")
    for name, place in models.items():
        script = script.replace(name, place)
    (tmp_path / "launch.sh").write_text(script)
    collection = Collection()
    for name in ("launch.sh", "server.log"):
        collection.add_file(str(tmp_path / name))
    (one,) = collection.outcome().checked
    assert {"eagle-flag-on-eagle3-draft", "live-accept-length-one"} <= {finding.rule for finding in one.findings}


def test_a_log_without_arguments_promises_nothing(tmp_path: Path) -> None:
    (tmp_path / "server.log").write_text(lines((2.0, 0.5, 4, 20)))
    collection = Collection()
    collection.add_file(str(tmp_path / "server.log"))
    (one,) = collection.outcome().checked
    assert verdict(one) == "No error in what the server reported; its flags and models are not told here."
