"""What a running server says of itself, and what is made of answers that are wrong."""

import json
import socket
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.check.collect import Collection
from engine.check.deployment import assemble
from engine.check.live import accept_length, read_server, release_of
from engine.check.records import LiveServer
from engine.check.report.json_report import json_report
from engine.check.report.result import Outcome, check_deployment
from engine.check.report.sarif import sarif_report
from engine.check.report.text_report import text_report
from tests.check.loopback import endless, redirect, serving, status

RECORDED = Path(__file__).parent / "recorded"


def recorded(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((RECORDED / f"sglang-0.5.17-{name}.json").read_text())
    return found


@pytest.mark.parametrize(("name", "least", "most"), [("eagle", 1.0, 1.05), ("eagle3", 2.5, 3.5)])
def test_reads_a_recorded_server(name: str, least: float, most: float) -> None:
    answers = recorded(name)
    with serving({"/server_info": answers["/server_info"], "/model_info": answers["/model_info"]}) as (url, _):
        live = read_server(url + "/")
    length = accept_length(live)
    assert live.problem is None and length is not None and least <= length <= most
    assert release_of(live) == "0.5.17"
    assert (live.model_info or {})["architectures"] == ["LlamaForCausalLM"]


@pytest.mark.parametrize(
    ("name", "errors"), [("eagle", {"live-accept-length-one"}), ("eagle3", set()), ("baseline", set())]
)
def test_the_verdict_on_a_recorded_server_is_that_of_its_accept_length(name: str, errors: set[str]) -> None:
    answers = recorded(name)
    with serving({"/server_info": answers["/server_info"], "/model_info": answers["/model_info"]}) as (url, _):
        one = check_deployment(assemble(None, live=read_server(url)))
    assert {finding.rule for finding in one.findings if finding.severity == "error"} == errors
    assert one.deployment.arguments is not None and one.deployment.arguments.release == "0.5.17"


@pytest.mark.parametrize(
    ("name", "errors"), [("eagle", {"live-accept-length-one"}), ("eagle3", set()), ("baseline", set())]
)
def test_a_recorded_log_gets_the_same_verdict(name: str, errors: set[str]) -> None:
    collection = Collection()
    collection.add_file(str(RECORDED / f"sglang-0.5.17-{name}.log"))
    (one,) = collection.outcome().checked
    assert {finding.rule for finding in one.findings if finding.severity == "error"} == errors


JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=8)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=4), inner, max_size=3)),
    max_leaves=6,
)
KEYS = st.sampled_from(
    [
        *("model_path", "speculative_algorithm", "speculative_draft_model_path", "speculative_num_steps", "tp_size"),
        *("internal_states", "version", "launch_command", "speculative_eagle_topk", "context_length", "dtype"),
    ]
)


@settings(max_examples=150, deadline=None)
@given(st.dictionaries(KEYS, JSON), st.one_of(st.none(), st.text(max_size=40)))
def test_no_answer_of_a_server_breaks_the_check_or_its_reports(
    information: dict[str, Any], metrics: str | None
) -> None:
    live = LiveServer(url="http://h", server_info=information, metrics=metrics)
    one = check_deployment(assemble(None, live=live))
    json.loads(json_report(Outcome((one,))))
    sarif_report(Outcome((one,)))
    text_report(one)


def test_falls_back_to_the_older_paths_only_where_the_new_ones_are_not_found() -> None:
    with serving({"/get_server_info": {"model_path": "/m"}, "/get_model_info": {"model_path": "/m"}}) as (url, asked):
        live = read_server(url)
    assert live.server_info == {"model_path": "/m"} and live.model_info == {"model_path": "/m"}
    with serving({"/server_info": {"model_path": "/m"}, "/model_info": {}}) as (url, asked):
        read_server(url)
    assert not [path for path in asked if "get_" in path]


def test_counts_verifications_over_the_ranks() -> None:
    metrics = 'sglang:spec_verify_calls_total{dp_rank="0"} 150.0\nsglang:spec_verify_calls_total{dp_rank="1"} 60.0\n'
    with serving({"/server_info": {"model_path": "/m"}, "/metrics": metrics}) as (url, _):
        assert read_server(url).verifications == 210


@pytest.mark.parametrize(
    ("answer", "what"),
    [
        ("<html>", "not with JSON"),
        ([1], "not with an object"),
        ({"hello": 1}, "not as SGLang does"),
        (redirect("http://127.0.0.1:1/"), "redirects"),
        (status(401), "API key"),
        (status(503), "status 503"),
        (endless, "does not end"),
        ("[" * 100_000, "not with JSON"),
    ],
)
def test_an_answer_that_is_of_no_use_is_told(answer: Any, what: str) -> None:
    with serving({"/server_info": answer}) as (url, _):
        live = read_server(url)
    assert live.server_info is None
    assert what in (live.problem or "")


def test_nothing_listening_and_an_address_that_is_none_are_told() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    assert "cannot connect" in (read_server(f"127.0.0.1:{port}").problem or "")
    assert read_server("http://[::broken").problem
    assert read_server("ftp://127.0.0.1").problem


def test_a_server_that_keeps_silent_is_left_in_time() -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        live = read_server(f"http://127.0.0.1:{silent.getsockname()[1]}", timeout_s=0.3)
    assert "0 s" in (live.problem or "")


def test_a_password_in_an_address_is_not_shown() -> None:
    live = read_server("http://user:hunter2@127.0.0.1:9", timeout_s=1.0)
    assert "hunter2" not in f"{live.url} {live.problem}" and "127.0.0.1:9" in live.url
