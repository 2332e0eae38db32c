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
def reference_server(algorithm: str) -> Iterator[str]:
    command = [sys.executable, "-m", "console", "reference", "serve", "--port", "0", "--enable-return-hidden-states"]
    command += ["--speculative-algorithm", algorithm, "--speculative-draft-model-path", str(shipped_draft())]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as child:
        assert child.stdout is not None
        lines = (line.split("listening on ")[-1].strip() for line in child.stdout if "listening on " in line)
        try:
            yield next(lines)
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
    with reference_server(algorithm) as url:
        measured = found(probe, url, "--prompts", "8")
        live = found(check, "--server", url)
    assert ("eagle-flag-on-eagle3-draft" in before) != sound
    assert (measured["accept_length"] > 1.2) == sound
    assert measured["hidden_width"] in measured["expected_hidden_widths"]
    errors = {finding["rule"] for finding in live["findings"] if finding["severity"] == "error"}
    assert errors - {"live-accept-length-one"} == before
