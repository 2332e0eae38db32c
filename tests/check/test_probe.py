"""The probe against a loopback server that gives recorded SGLang answers."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from console.command_line.probe import probe
from engine.check.probe import width_of
from tests.check.loopback import serving, status
from tests.check.test_live import recorded


def routes(name: str, **server: Any) -> dict[str, Any]:
    answers = recorded(name)
    metas = iter(answers["/generate"]["meta_info"] * 8)

    def generate(handler: Any) -> None:
        body = {"text": "x", "meta_info": {**next(metas), "hidden_states": [[[0.5] * 512] * 3]}}
        handler.reply(json.dumps(body).encode())

    information = {**answers["/server_info"], **server}
    return {"/server_info": information, "/model_info": answers["/model_info"], "/generate": generate}


def run(*arguments: str) -> Any:
    return CliRunner().invoke(probe, list(arguments))


@pytest.mark.parametrize(("name", "least", "most"), [("eagle", 1.0, 1.05), ("eagle3", 2.0, 3.5)])
def test_measures_accept_length_as_the_server_does(name: str, least: float, most: float) -> None:
    with serving(routes(name)) as (url, _):
        found = json.loads(run(url, "--json", "--prompts", "3").stdout)
    assert len(found["requests"]) == 3
    for request, meta in zip(found["requests"], recorded(name)["/generate"]["meta_info"], strict=False):
        assert request["accept_length"] == pytest.approx(meta["spec_accept_length"])
    assert least <= found["accept_length"] <= most
    assert found["tokens_per_s"] > 0
    assert found["hidden_width"] is None and "--enable-return-hidden-states" in found["hidden_note"]


def test_measures_the_hidden_width_where_the_server_allows_it(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{"architectures": ["LlamaForCausalLM"], "hidden_size": 512}')
    with serving(routes("eagle3", enable_return_hidden_states=True, model_path=str(tmp_path))) as (url, _):
        found = json.loads(run(url, "--json", "--prompts", "1").stdout)
    assert (found["hidden_width"], found["expected_hidden_widths"]) == (512, [512])


def test_a_server_without_speculation_has_no_accept_length() -> None:
    with serving(routes("baseline")) as (url, _):
        result = run(url, "--prompts", "2")
    assert result.exit_code == 0
    assert "accept length  –" in result.stdout
    assert max(map(len, result.stdout.splitlines())) <= 80


def test_no_server_and_a_server_that_refuses_end_with_2() -> None:
    result = run("http://127.0.0.1:1")
    assert result.exit_code == 2
    assert "127.0.0.1:1" in result.stderr
    with serving({**routes("eagle3"), "/generate": status(500)}) as (url, _):
        assert run(url, "--json").exit_code == 2


@pytest.mark.parametrize(
    ("states", "width"),
    [([[[0.1, 0.2]]], 2), ([0.1], 1), ([], None), (None, None), ([[]], None), ("x", None), ([["x"]], None)],
)
def test_width_of_nested_lists(states: Any, width: int | None) -> None:
    assert width_of(states) == width
