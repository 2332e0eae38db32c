"""What real SGLang said on a real GPU with the shipped models: the checker's verdict must fit what happened there.

Recorded 2026-12-01: SGLang 0.5.17, one NVIDIA H200. Accept lengths there: EAGLE 1.015, EAGLE3 1.824.
"""

import json
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from engine.check.collect import Collection
from engine.check.records import Finding
from engine.reference.checkpoint import shipped_draft, shipped_target
from tests.check.loopback import serving

RECORDED = Path(__file__).parent / "recorded" / "sglang-0.5.17-h200-reference.json"


def recorded(server: str) -> dict[str, Any]:
    text = RECORDED.read_text().replace("{target}", str(shipped_target())).replace("{draft}", str(shipped_draft()))
    found: dict[str, Any] = json.loads(text)["servers"][server]
    return found


def check_against(server: str, algorithm: str | None) -> dict[str, Finding]:
    answers = recorded(server)
    routes = {
        "/server_info": answers["server_info"],
        "/model_info": answers["model_info"],
        "/metrics": answers["metrics"],
    }
    with serving(routes) as (url, _):
        collection = Collection()
        if algorithm is not None:
            collection.add_command(
                [
                    sys.executable, "-m", "sglang.launch_server", "--model-path", str(shipped_target()),
                    "--speculative-algorithm", algorithm, "--speculative-draft-model-path", str(shipped_draft()),
                    "--speculative-num-steps", "3", "--speculative-eagle-topk", "1",
                    "--speculative-num-draft-tokens", "4", "--attention-backend", "triton",
                ]
            )  # fmt: skip
        collection.add_server(url)
        (checked,) = collection.outcome().checked
    return {finding.rule: finding for finding in checked.findings if finding.severity == "error"}


def test_the_server_that_accepted_nothing_is_found_from_its_answers_alone() -> None:
    errors = check_against("eagle", None)
    assert {"eagle-flag-on-eagle3-draft", "fc-bypassed", "live-accept-length-one"} <= errors.keys()
    assert "EAGLE flag with an EAGLE-3 draft" in errors["live-accept-length-one"].message


@pytest.mark.parametrize("algorithm", ["EAGLE3", None])
def test_the_server_that_worked_has_no_error(algorithm: str | None) -> None:
    assert check_against("eagle3", algorithm) == {}


def test_a_server_with_another_algorithm_than_asked_for_is_told() -> None:
    assert {"live-flag-differs", "live-accept-length-one"} <= check_against("eagle", "EAGLE3").keys()


def test_a_server_without_speculation_is_told() -> None:
    assert "live-speculation-off" in check_against("baseline", "EAGLE3")


def test_the_release_is_the_server_s_own() -> None:
    with serving({"/server_info": recorded("eagle3")["server_info"]}) as (url, _):
        collection = Collection()
        collection.add_server(url)
        arguments = collection.outcome().checked[0].deployment.arguments
    assert arguments is not None and (arguments.release, arguments.release_known) == ("0.5.17", True)


def test_the_width_that_the_gpu_returned_is_the_width_of_the_captured_layers() -> None:
    width = json.loads(RECORDED.read_text())["returned_hidden_width_eagle3"]
    config = msgspec.json.decode((shipped_target() / "config.json").read_bytes())
    assert width == 3 * config["hidden_size"]
