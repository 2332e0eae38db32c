"""`alula check` as an operator runs it."""

import json
import os
import pty
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from console.command_line.check import check
from tests.check.loopback import serving
from tests.check.models import incident_folder

FLAGS = "--speculative-num-steps 3 --speculative-eagle-topk 1 --speculative-num-draft-tokens 4"


@pytest.fixture
def script(tmp_path: Path) -> Path:
    """The incident in small: an EAGLE flag with an EAGLE-3 draft."""
    target, draft = incident_folder(tmp_path)
    path = tmp_path / "launch.sh"
    path.write_text(
        "#!/bin/bash\npython3 -m sglang.launch_server --model-path "
        f"{target} --speculative-algorithm EAGLE --speculative-draft-model-path {draft} {FLAGS}\n"
    )
    return path


def run(*arguments: object, text: str | None = None) -> Result:
    return CliRunner().invoke(check, [str(argument) for argument in arguments], input=text)


def rules(result: Result) -> dict[str, str]:
    return {finding["rule"]: finding["severity"] for finding in json.loads(result.stdout)["findings"]}


def test_the_incident_is_found_and_its_own_fix_mends_it(script: Path) -> None:
    before = run("--json", script)
    assert before.exit_code == 1
    assert rules(before)["eagle-flag-on-eagle3-draft"] == "error"
    diff = run("--fix", script)
    subprocess.run(["patch", "-p0", "-s", "-d", "/"], input=diff.stdout, text=True, check=True)
    assert "--speculative-algorithm EAGLE3 " in script.read_text()
    after = run("--json", script)
    assert after.exit_code == 0, after.stdout
    assert "error" not in rules(after).values()


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("--speculative-algoritm EAGLE3", "--speculative-algorithm EAGLE3"),
        ("--speculative-algorithm EAGLE3 --cuda-graph-max-bs 8", "--cuda-graph-max-bs-decode 8"),
        ("--speculative-algorithm EAGLE3 --enable_metrics", "--enable-metrics"),
        ("--config=serve.yaml", "--config serve.yaml"),
    ],
)
def test_a_flag_that_the_server_refuses_is_mended(script: Path, wrong: str, right: str) -> None:
    (script.parent / "serve.yaml").write_text("speculative-algorithm: EAGLE3\n")
    script.write_text(script.read_text().replace("--speculative-algorithm EAGLE", wrong))
    assert run("--json", script).exit_code == 1
    diff = run("--fix", script).stdout
    subprocess.run(["patch", "-p0", "-s", "-d", "/"], input=diff, text=True, check=True)
    assert right in script.read_text()
    assert run("--json", script).exit_code == 0, run(script).stdout


def test_the_report_fits_80_columns_and_marks_the_flag(script: Path) -> None:
    result = run(script)
    assert result.exit_code == 1
    lines = result.stdout.splitlines()
    assert max(map(len, lines)) <= 80
    assert lines[0].startswith("✗") and any("^^^^^" in line for line in lines)
    assert "\x1b" not in result.stdout


def test_reads_standard_input_and_a_command_behind_dashes(script: Path) -> None:
    assert "eagle-flag-on-eagle3-draft" in rules(run("--json", "-", text=script.read_text()))
    command = script.read_text().splitlines()[1].split()
    assert "eagle-flag-on-eagle3-draft" in rules(run("--json", "--", *command))


def test_a_server_beside_the_launch_is_compared_with_it(script: Path, tmp_path: Path) -> None:
    script.write_text(script.read_text().replace("EAGLE ", "EAGLE3 "))
    information: dict[str, Any] = {
        "model_path": str(tmp_path / "target"),
        "speculative_algorithm": "EAGLE",
        "speculative_draft_model_path": str(tmp_path / "draft"),
        "version": "0.5.23",
        "internal_states": [{"avg_spec_accept_length": 1.0}],
    }
    with serving({"/server_info": information}) as (url, _):
        found = rules(run("--json", "--server", url, script))
        alone = run("--json", "--server", url)
    assert found["live-flag-differs"] == "error"
    assert rules(alone)["eagle-flag-on-eagle3-draft"] == "error"
    assert json.loads(alone.stdout)["deployment"]["release"] == "0.5.23"


def test_a_server_that_does_not_answer_is_a_finding(script: Path) -> None:
    assert rules(run("--json", "--server", "http://127.0.0.1:1", script))["live-unreachable"] == "error"


def test_several_servers_are_kept_apart(script: Path) -> None:
    lines = script.read_text().splitlines()
    script.write_text("\n".join([*lines, lines[1].replace("EAGLE ", "EAGLE3 ")]) + "\n")
    report = json.loads(run("--json", script).stdout)
    assert [one["flags"]["speculative_algorithm"] for one in report["deployments"]] == ["EAGLE", "EAGLE3"]
    assert {finding["deployment"] for finding in report["findings"] if finding["severity"] == "error"} == {0}


def test_the_release_decides_which_flags_exist(script: Path) -> None:
    script.write_text(script.read_text().rstrip() + " --cuda-graph-max-bs 8\n")
    assert "flag-unknown" in rules(run("--json", "--sglang-version", "0.5.23", script))
    assert "flag-unknown" not in rules(run("--json", "--sglang-version", "0.5.9", script))


def test_a_source_that_speaks_of_no_server_beside_one_that_does_is_no_failure(script: Path, tmp_path: Path) -> None:
    start, unclear = tmp_path / "start.sh", tmp_path / "unclear.sh"
    start.write_text("docker compose up -d\n")
    unclear.write_text("python3 -m sglang.launch_server_of_ours --model-path /m\n")
    assert run(start).exit_code == 2
    assert run(script, start).exit_code == run(script).exit_code == 1
    assert "start.sh: no server start found" in run(script, start).stderr
    assert run(script, unclear).exit_code == 2


def test_what_cannot_be_checked_ends_with_2_and_says_where(tmp_path: Path) -> None:
    binary = tmp_path / "x.sh"
    binary.write_bytes(b"python\n\0")
    result = run(binary)
    assert result.exit_code == 2
    assert f"{binary}:2: a binary file" in result.stderr
    report = json.loads(run("--json", binary).stdout)
    assert report["findings"] == [] and report["unchecked"][0]["line"] == 2
    assert run().exit_code == 2
    assert run("--json", "--sarif", binary).exit_code == 2


def test_lists_and_explains_rules() -> None:
    listed = run("--list-rules")
    assert listed.exit_code == 0 and "eagle-flag-on-eagle3-draft" in listed.stdout
    assert max(map(len, listed.stdout.splitlines())) <= 80
    assert {"id", "severity", "title", "explanation", "source"} <= set(
        json.loads(run("--list-rules", "--json").stdout)[0]
    )
    assert "accept" in run("--explain", "eagle-flag-on-eagle3-draft").stdout
    wrong = run("--explain", "eagle-flag-on-eagle3-drat")
    assert wrong.exit_code == 2 and "did you mean eagle-flag-on-eagle3-draft" in wrong.stderr


@pytest.mark.parametrize(
    ("environment", "coloured"), [({}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)]
)
def test_colour_only_where_the_terminal_wants_it(script: Path, environment: dict[str, str], coloured: bool) -> None:
    kept = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
    master, worker = pty.openpty()
    command = [sys.executable, "-m", "console", "check", str(script)]
    child = subprocess.Popen(command, stdout=worker, env={**kept, "TERM": "xterm-256color", **environment})
    os.close(worker)
    output = b""
    while True:
        try:
            piece = os.read(master, 65536)
        except OSError:
            break
        if not piece:
            break
        output += piece
    os.close(master)
    assert child.wait() == 1
    assert (b"\x1b[" in output) == coloured


@pytest.mark.parametrize("release", ["nonsense", "1e9", "0.5.9; true", ""])
def test_no_release_is_told(script: Path, release: str) -> None:
    refused = run("--sglang-version", release, script)
    assert refused.exit_code == 2
    assert "is no release" in refused.stderr


@pytest.mark.parametrize("release", ["0.5.9", "v0.5.9", "0.5.6.post2", "0.5.24.dev12+gabc", "0.5.23+cu130"])
def test_any_spelling_of_a_release(script: Path, release: str) -> None:
    assert run("--json", "--sglang-version", release, script).exit_code == 1


@pytest.mark.parametrize("form", ["--json", "--sarif"])
def test_names_that_are_no_unicode(script: Path, form: str) -> None:
    odd = b"t\xff".decode(errors="surrogateescape")
    found = run(form, f"/nowhere/{odd}", "--", "python3", "-m", "sglang.launch_server", "--model-path", odd)
    assert "t\ufffd" in found.stdout
    json.loads(found.stdout)
