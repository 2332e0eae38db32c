# ruff: noqa: E501 - tables
"""Pieces of each form in any order: a reader ends in launches or a clear error, and the checker in a report."""

import json
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from engine.check.collect import Collection
from engine.check.deployment import assemble
from engine.check.errors import SourceUnreadable
from engine.check.report.fix_diff import fix_diffs
from engine.check.report.json_report import json_report
from engine.check.report.result import Outcome, check_deployment
from engine.check.report.text_report import text_report
from engine.check.sources.benchmarks import read_results
from engine.check.sources.containers import bind, container_of, release_in
from engine.check.sources.dockerfile import read_dockerfile
from engine.check.sources.reading import find_servers
from engine.check.sources.systemd import environment_file, read_unit
from engine.check.sources.text import SourceText

RUN = "python3 -m sglang.launch_server --model-path /m --speculative-algorithm EAGLE3"
ODD = ("", " ", "\\", "\\\n", "\"", "'", "[", "]", "$", "${A", "%h", "#", "\t", "\r", "é", "\x00", "=", ":", "--", "{{x}}", "\u2028")  # fmt: skip
ANYTHING = st.one_of(st.sampled_from(ODD), st.text(max_size=8))
DOCKERFILE = (
    "FROM lmsysorg/sglang:v0.5.9", "FROM x AS y", "FROM", "ENV A=1 B=\"two words\"", "ENV A two", "ENV A=\\", "RUN pip install sglang==0.5.9",
    "WORKDIR /w", "WORKDIR", f"CMD {RUN}", f"ENTRYPOINT {json.dumps(RUN.split())}", "CMD [\"--tp\", \"2\"]", "CMD [\"a\"", "CMD [1]",
    "ENTRYPOINT [\"bash\", \"-c\", \"" + RUN + " $A\"]", "# note", "ARG T=1", "HEALTHCHECK CMD curl x", "COPY <<EOF /x", "EOF", "entrypoint []",
)  # fmt: skip
QUADLET = (
    "[Container]", "[Service]", "[Unit]", "Image=docker.io/lmsysorg/sglang:v0.5.9", "Image=", f"Exec={RUN}", f"ExecStart=-{RUN}", "ExecStart=",
    "Exec=\\", "Volume=/a:/b:ro", "Volume=a:b", "Volume=:::", "Environment=A=1 \"B=2 3\" 'C=4'", "Environment=", "EnvironmentFile=-/nowhere",
    "EnvironmentFile=/dev", "WorkingDirectory=~/x", "WorkingDirectory=%h", "; note", "# note", "Exec=--tp 2", "=", "ExecStart=+!!@-",
)  # fmt: skip
WORDS = (
    "docker",
    "run",
    "-v",
    "/a:/b",
    "--mount",
    "type=bind,source=/a,target=/b",
    "--mount=,,=",
    "-e",
    "A=1",
    "--env=",
    "-eA=1",
    "image:v1",
    *RUN.split(),
)


def mixed(pieces: tuple[str, ...]) -> st.SearchStrategy[str]:
    """Lines of a form with anything between and behind them."""
    line = st.one_of(st.sampled_from(pieces), st.tuples(st.sampled_from(pieces), ANYTHING).map("".join), ANYTHING)
    return st.lists(line, max_size=14).map("\n".join)


def reported(text: str, name: str) -> None:
    try:
        found = find_servers(text, name, None)
    except SourceUnreadable as error:
        assert error.place.source == name and error.message
        return
    checked = [check_deployment(assemble(launch)) for launch in found.launches]
    for one in checked:
        text_report(one)
    fix_diffs(checked)
    json_report(Outcome(tuple(checked), ()))


@given(mixed(DOCKERFILE))
@example("ENTRYPOINT []")
@settings(max_examples=60, deadline=None)
def test_any_dockerfile(text: str) -> None:
    read_dockerfile(SourceText("Dockerfile", text))
    reported("FROM x\n" + text, "Dockerfile")


@given(mixed(QUADLET))
@settings(max_examples=60, deadline=None)
def test_any_unit_or_quadlet(text: str) -> None:
    read_unit(SourceText("x.container", text), "/home/x")
    reported("[Container]\n" + text, "x.container")


@given(st.lists(st.one_of(st.sampled_from(WORDS), ANYTHING), max_size=20))
@settings(max_examples=60, deadline=None)
def test_any_words_around_a_server(words: list[str]) -> None:
    container_of(words, {"A": "1"})
    release_in(words)
    for word in words:
        bind(word)
    collection = Collection()
    collection.add_command(words)
    json_report(collection.outcome())


@given(mixed(("A=1", "export B='2'", "C", "=x", "D=a=b")))
@settings(max_examples=40, deadline=None)
def test_any_environment_file(text: str) -> None:
    assert all(name.isidentifier() or name.isalnum() for name in environment_file(text))


JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=6)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=6), inner, max_size=3)),
    max_leaves=6,
)
RESULT = st.fixed_dictionaries(
    dict.fromkeys(("accept_length", "dataset_name", "completed", "server_info", "output_throughput"), JSON)
)


@given(st.lists(RESULT, max_size=3))
@settings(max_examples=40, deadline=None)
def test_any_result_of_a_benchmark(rows: list[object]) -> None:
    text = "\n".join(map(json.dumps, rows))
    for benchmark in read_results(text, "r.jsonl"):
        json_report(Outcome((check_deployment(assemble(None, benchmarks=(benchmark,))),), ()))


@pytest.fixture(scope="module")
def recipe(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("recipe") / "run.yaml"


@given(
    st.one_of(
        mixed(("model:", "  target_model_path: a/b", "data: {max_length: 3}", "- a", "a: *b")), JSON.map(json.dumps)
    )
)
@settings(max_examples=40, deadline=None)
def test_any_training_recipe(recipe: Path, text: str) -> None:
    recipe.write_text(text, errors="replace")
    collection = Collection()
    collection.add_training(str(recipe))
    collection.add_command(RUN.split())
    json_report(collection.outcome())


SETTINGS = st.one_of(JSON.map(json.dumps), mixed(('{"method": "eagle3"', '"model": "/d"}', "num_speculative_tokens")))


@given(SETTINGS)
@settings(max_examples=40, deadline=None)
def test_any_speculative_config_of_vllm(text: str) -> None:
    collection = Collection()
    collection.add_command(["vllm", "serve", "/m", "--speculative-config", text])
    json_report(collection.outcome())
