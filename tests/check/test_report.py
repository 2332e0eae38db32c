"""The text report, the diagram, JSON and SARIF."""

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.check.records import Evidence, Finding, LiveServer, Place, Severity
from engine.check.report.flow import flow_of
from engine.check.report.json_report import json_report
from engine.check.report.result import Outcome, Unchecked
from engine.check.report.sarif import sarif_report
from engine.check.report.styled import Line
from engine.check.report.text_report import text_report
from tests.check.examples import COMMAND, DRAFT, checked, incident, launch_in


def drawn(lines: list[Line]) -> list[str]:
    return ["".join(span.text for span in line) for line in lines]


def test_the_report_says_verdict_widths_command_and_finding_within_80_columns() -> None:
    launch = launch_in(COMMAND)
    lines = drawn(text_report(checked(launch, incident(launch))))
    text = "\n".join(lines)
    assert max(map(len, lines)) <= 80
    assert lines[0].startswith("✗ 1 error")
    assert text.index("Widths") < text.index("Command") < text.index("Errors")
    assert "fc         21504 → 7168" in text
    assert "✗        EAGLE flag with an EAGLE-3 draft" in text
    assert "expected EAGLE3, found EAGLE" in text and "Fix: Use --speculative-algorithm EAGLE3." in text


def test_the_offending_flag_is_marked_in_place_by_signs() -> None:
    launch = launch_in(COMMAND)
    lines = drawn(text_report(checked(launch, incident(launch))))
    at = next(index for index, line in enumerate(lines) if "--speculative-algorithm EAGLE" in line and "\\" in line)
    command, marks = lines[at], lines[at + 1]
    assert {command[index] for index, mark in enumerate(marks) if mark == "^"} == set("--speculative-algorithmEAGLE")
    assert sum(line.count("^") for line in lines) == len("--speculative-algorithmEAGLE")


def test_a_sound_deployment_reads_as_one() -> None:
    lines = drawn(text_report(checked(launch_in(COMMAND.replace("EAGLE ", "EAGLE3 ")))))
    assert lines[0].startswith("✓ No error")
    assert not [line for line in lines if "✗" in line]
    assert any("layers 2, 30, 58: 3 x 7168" in line for line in lines)
    assert any("21504 wide" in line for line in lines)


@pytest.mark.parametrize(
    ("ids", "release", "captured"),
    [
        (None, "0.5.23", (2, 30, 58)),
        ([1, 29, 57], "0.5.23", (2, 30, 58)),
        ([2, 30, 58], "0.5.23", (2, 30, 58)),
        ([2, 30, 58], "0.5.12", (3, 31, 59)),
    ],
)
def test_the_diagram_counts_captured_layers_as_the_release_does(
    ids: list[int] | None, release: str, captured: tuple[int, ...]
) -> None:
    import msgspec

    config = {**(DRAFT.config or {}), "eagle_config": {"eagle_aux_hidden_state_layer_ids": ids}}
    one = checked(launch_in(COMMAND.replace("EAGLE ", "EAGLE3 ")), draft=msgspec.structs.replace(DRAFT, config=config))
    assert one.deployment.arguments is not None
    arguments = msgspec.structs.replace(one.deployment.arguments, release=release)
    deployment = msgspec.structs.replace(one.deployment, arguments=arguments)
    assert flow_of(msgspec.structs.replace(one, deployment=deployment)).captured == captured


def test_without_models_there_is_no_diagram_but_a_report() -> None:
    lines = drawn(text_report(checked(launch_in(COMMAND), target=None, draft=None)))
    assert "Widths" not in lines and "Command" in lines


SEVERITIES: tuple[Severity, ...] = ("error", "warning", "info")
OUTSIDE = st.text(max_size=300)


@settings(max_examples=100, deadline=None)
@given(OUTSIDE, OUTSIDE, st.sampled_from(SEVERITIES), st.text(st.characters(exclude_characters="'\0"), max_size=200))
def test_outside_text_never_reaches_the_terminal_raw(title: str, message: str, severity: Severity, name: str) -> None:
    launch = launch_in("python3 -m sglang.launch_server --model-path /m --served-model-name '" + name + "'\n")
    evidence = (Evidence(what=title, found=message, place=Place("x" + name, 1)),)
    finding = Finding(rule="any", severity=severity, title=title, message=message, evidence=evidence)
    for line in drawn(text_report(checked(launch, finding))):
        assert len(line) <= 80
        assert not any(ord(character) < 32 or ord(character) in range(127, 160) for character in line)


def test_json_has_the_documented_keys() -> None:
    launch = launch_in("STEPS=$X\n" + COMMAND)
    report = json.loads(json_report(Outcome((checked(launch, incident(launch)),))))
    assert set(report) == {"schema", "deployment", "deployments", "findings", "unchecked", "summary"}
    assert report["deployment"] == report["deployments"][0]
    assert report["summary"] == {"errors": 1, "warnings": 0, "infos": 0, "deployments": 1, "exit_code": 1}
    (finding,) = report["findings"]
    assert {"rule", "severity", "title", "message", "evidence", "fix", "deployment"} <= set(finding)
    assert finding["evidence"][0]["place"] == {"source": "launch.sh", "line": 2, "column": 74, "end_column": 97}
    assert report["deployment"]["flags"]["speculative_num_steps"] == 3
    assert report["deployment"]["widths"]["fc_in"] == 21504
    assert report["deployment"]["command"][:3] == ["python3", "-m", "sglang.launch_server"]


def test_json_of_a_live_server_and_of_something_unchecked() -> None:
    from engine.check.records import Deployment
    from engine.check.report.result import Checked

    information = {
        "speculative_algorithm": "EAGLE",
        "version": "0.5.17",
        "internal_states": [{"avg_spec_accept_length": 1.0}],
    }
    live = Checked(
        Deployment(launch=None, arguments=None, live=LiveServer(url="http://h", server_info=information)), ()
    )
    outcome = Outcome((live,), (Unchecked("x.sh", 3, None, "a binary file", ""),))
    report = json.loads(json_report(outcome))
    assert report["deployment"]["live"]["accept_length"] == 1.0
    assert report["unchecked"][0]["line"] == 3
    assert report["summary"]["exit_code"] == 2


def test_sarif_points_into_the_file(tmp_path: Path) -> None:
    launch = launch_in(COMMAND, tmp_path / "launch script.sh")
    outcome = Outcome((checked(launch, incident(launch), advice_without_place()),))
    report = json.loads(sarif_report(outcome))
    (run,) = report["runs"]
    assert report["version"] == "2.1.0"
    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == ["eagle-flag-on-eagle3-draft", "advice"]
    first, second = run["results"]
    assert (first["level"], first["ruleIndex"], second["level"]) == ("error", 0, "note")
    physical = first["locations"][0]["physicalLocation"]
    assert physical["artifactLocation"]["uri"].endswith("launch%20script.sh")
    assert physical["region"] == {"startLine": 1, "startColumn": 74, "endColumn": 97}
    assert run["invocations"][0]["executionSuccessful"] is True


def advice_without_place() -> Finding:
    return Finding(rule="advice", severity="info", title="Advice", message="So.")
