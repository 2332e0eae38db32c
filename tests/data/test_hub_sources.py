"""Sources on the hub, by the real client against a local server: pinned to a commit, and every refusal explained."""

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from console.command_line.root import alula
from engine.data.records import Source, SourceError
from engine.data.sources import hub
from tests.data.hub_server import HubServer, hub_server
from tests.data.made import prompt, write_jsonl, write_plan

WHERE = "/api/datasets/a/set"


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[HubServer]:
    from huggingface_hub import constants

    with hub_server({"a/set": {}}) as found:
        monkeypatch.setattr(constants, "ENDPOINT", found.url)
        monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
        yield found


def test_a_source_is_pinned_to_the_commit_of_now(server: HubServer) -> None:
    assert hub.pinned(Source(hub="a/set", split="train")).revision == "0" * 40


@pytest.mark.parametrize(
    ("fault", "said", "remedy"),
    [
        ((403, {"X-Error-Code": "GatedRepo"}), "is gated", "accept its terms at https://huggingface.co/datasets/a/set"),
        ((401, {"X-Error-Code": "RepoNotFound"}), "is unknown, or private", "HF_TOKEN"),
        ((404, {"X-Error-Code": "RevisionNotFound"}), "has no revision", "commit, branch or tag"),
        ((429, {}), "refuses for now (429)", "wait"),
        (503, "cannot read a/set", "check the network"),
        ("cut", "cannot read a/set", "check the network"),
        ("broken", "cannot read a/set", "check the network"),
        (0.6, "cannot read a/set", "check the network"),
    ],
)
def test_a_refusal_says_what_to_do(
    server: HubServer, monkeypatch: pytest.MonkeyPatch, fault: Any, said: str, remedy: str
) -> None:
    monkeypatch.setattr(hub, "TIMEOUT_S", 0.3)
    server.faults[WHERE] = [fault] * 20
    with pytest.raises(SourceError, match=said.replace("(", r"\(").replace(")", r"\)")) as raised:
        hub.pinned(Source(hub="a/set"))
    assert remedy in raised.value.remedy


def test_figures_and_words_of_an_address_are_no_refusal() -> None:
    away = OSError("cannot connect to http://127.0.0.1:42901/api/datasets/me/gated-set")
    told = hub.explain_hub_error(Source(hub="me/gated-set"), away)
    assert str(told).startswith("cannot read me/gated-set") and "check the network" in told.remedy


@pytest.mark.parametrize("policy", ["stop", "skip"])
def test_a_hub_that_refuses_stops_or_is_left_out(
    server: HubServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, policy: str
) -> None:
    monkeypatch.setenv("ALULA_HOME", str(tmp_path / "home"))
    server.faults[WHERE] = [(429, {})] * 20
    source = random.Random(1)
    write_jsonl(tmp_path / "b.jsonl", [{"prompt": prompt(source)} for _ in range(5)])
    plan = write_plan(
        tmp_path,
        f'name = "t"\n[faults]\nunreachable = "{policy}"\n'
        '[[source]]\nname = "a"\nhub = "a/set"\n[[source]]\nname = "b"\npath = "b.jsonl"\n',
    )
    words = ["data", "prepare", str(plan), "--here", "--workers", "1", "--output", str(tmp_path / "out")]
    done = CliRunner().invoke(alula, words, catch_exceptions=False)
    assert done.exit_code == (2 if policy == "stop" else 0), done.stderr
    assert "429" in (done.stderr if policy == "stop" else done.stdout)
