"""The checker's verdict and a real server's accept length agree: the reference server, started as an operator would."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from click.testing import CliRunner

from console.command_line.check import check
from console.command_line.probe import probe
from engine.reference.checkpoint import shipped_draft, shipped_target


@contextmanager
def reference_server(algorithm: str, *more: str) -> Iterator[tuple[str, int]]:
    command = [sys.executable, "-m", "console", "reference", "serve", "--port", "0", "--enable-return-hidden-states"]
    command += ["--speculative-algorithm", algorithm, "--speculative-draft-model-path", str(shipped_draft()), *more]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as child:
        assert child.stdout is not None
        lines = (line.split("listening on ")[-1].strip() for line in child.stdout if "listening on " in line)
        try:
            yield next(lines), child.pid
        finally:
            child.terminate()
            child.stdout.close()


def found(command: Any, *arguments: str) -> dict[str, Any]:
    report: dict[str, Any] = json.loads(CliRunner().invoke(command, ["--json", *arguments]).stdout)
    return report


@pytest.mark.parametrize(("algorithm", "sound"), [("EAGLE", False), ("EAGLE3", True)])
def test_what_the_checker_foretells_the_probe_measures(algorithm: str, sound: bool) -> None:
    words = [
        "python3",
        "-m",
        "sglang.launch_server",
        "--model-path",
        str(shipped_target()),
        "--speculative-algorithm",
        algorithm,
    ]
    words += ["--speculative-draft-model-path", str(shipped_draft())]
    before = {finding["rule"] for finding in found(check, "--", *words)["findings"] if finding["severity"] == "error"}
    with reference_server(algorithm) as (url, _):
        measured = found(probe, url, "--prompts", "8")
        live = found(check, "--server", url)
    assert ("eagle-flag-on-eagle3-draft" in before) != sound
    assert (measured["accept_length"] > 1.2) == sound
    assert measured["hidden_width"] in measured["expected_hidden_widths"]
    errors = {finding["rule"] for finding in live["findings"] if finding["severity"] == "error"}
    assert errors - {"live-accept-length-one"} == before


def test_its_process_is_a_launch_and_its_key_is_never_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEY_OF_IT", "hush-hush")
    with reference_server("EAGLE", "--api-key", "hush-hush") as (url, pid):
        by_process = found(check, "--pid", str(pid))
        refused = found(check, "--server", url)
        by_url = found(check, "--server", url, "--api-key-env", "KEY_OF_IT")
        measured = found(probe, url, "--prompts", "1", "--api-key-env", "KEY_OF_IT")
        shown = CliRunner().invoke(check, ["--pid", str(pid)]).output
    for report in (by_process, by_url):
        assert {one["rule"] for one in report["findings"] if one["severity"] == "error"} == {
            "eagle-flag-on-eagle3-draft", "fc-bypassed",
        }  # fmt: skip
    assert by_process["deployment"]["live"]["url"] == url
    assert {one["rule"] for one in refused["findings"]} >= {"live-unreachable"}
    assert measured["accept_length"] is not None
    assert "hush" not in json.dumps(by_process) + json.dumps(by_url) + shown


def test_a_key_variable_that_is_not_set_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NOT_SET", raising=False)
    done = CliRunner().invoke(check, ["--server", "http://127.0.0.1:1", "--api-key-env", "NOT_SET"])
    assert done.exit_code == 2 and "NOT_SET" in done.output
