"""How long a whole check takes, in process and as a command, and whether thousands of checks in one process grow."""

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil

from engine.check.collect import Collection
from tests.benchmarks.results import Result
from tests.check.models import incident_folder

MOST_IN_PROCESS_S, MOST_COMMAND_S, MOST_GROWTH_MIB = 0.05, 0.3, 2.0
WARM_CHECKS, CHECKS, COMMANDS = 200, 10_000, 10
FLAGS = "--speculative-num-steps 3 --speculative-eagle-topk 1 --speculative-num-draft-tokens 4"


def run(report: Callable[[str], None]) -> Iterator[Result]:
    """A script with a target and a draft on local disk."""
    with tempfile.TemporaryDirectory() as name:
        script = _script(Path(name))
        subject = "check, in process"
        yield Result(subject, "first, with imports", _check_s(script), "s")
        yield Result(subject, "best of many", min(_check_s(script) for _ in range(WARM_CHECKS)), "s", MOST_IN_PROCESS_S)
        before = _resident_mib()
        for _ in range(CHECKS):
            _check_s(script)
        yield Result(subject, f"growth over {CHECKS}", _resident_mib() - before, "MiB", MOST_GROWTH_MIB)
        command = [sys.executable, "-m", "console", "check", "--json", str(script)]
        yield Result(
            "alula check", "whole command", min(_command_s(command) for _ in range(COMMANDS)), "s", MOST_COMMAND_S
        )


def _script(folder: Path) -> Path:
    target, draft = incident_folder(folder)
    script = folder / "launch.sh"
    models = f"--model-path {target} --speculative-draft-model-path {draft}"
    script.write_text(f"python3 -m sglang.launch_server {models} --speculative-algorithm EAGLE {FLAGS}\n")
    return script


def _check_s(script: Path) -> float:
    started = time.perf_counter()
    collection = Collection()
    collection.add_file(str(script))
    assert collection.outcome().exit_code == 1
    return time.perf_counter() - started


def _command_s(command: list[str]) -> float:
    started = time.perf_counter()
    subprocess.run(command, stdout=subprocess.DEVNULL, check=False)
    return time.perf_counter() - started


def _resident_mib() -> float:
    resident: int = psutil.Process().memory_info().rss
    return resident / (1 << 20)
