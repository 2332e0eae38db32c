"""Configs made to exhaust the checker, in a process that may take 1 GiB: each ends in a report, in little time."""

import json
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from engine.check.collect import Collection
from engine.check.report.fix_diff import fix_diffs
from engine.check.report.json_report import json_report
from engine.check.report.sarif import sarif_report
from engine.check.report.text_report import text_report
from tests.check.models import DRAFT_CONFIG, TARGET_CONFIG, incident_folder

ENGINE = Path(__file__).parents[2] / "engine" / "check"
LIMIT = 1 << 30
SLOWEST_S = 5.0
VALUES: tuple[Any, ...] = (
    10**9, 2**63, 10**400, -1, -(10**30), 0, 1e308, -0.5, True, None, "9" * 10_000, "ten", "", [], {}, [[[[]]]],
    [10**12] * 3, list(range(20_000)), [0] * 200_000, [None, "x", 1.5], {"a": {"b": []}}, {"factor": 1e300},
    {"factor": "x", "rope_type": []}, {"eagle_aux_hidden_state_layer_ids": list(range(50_000))},
)  # fmt: skip
MORE_KEYS = (
    "draft_vocab_size", "head_dim", "num_aux_hidden_states", "target_hidden_size", "eagle_config", "num_loops",
    "eagle_aux_hidden_state_layer_ids", "num_layers", "rope_scaling", "rope_parameters",
)  # fmt: skip
FLAGS = (
    "speculative-num-steps", "speculative-eagle-topk", "speculative-num-draft-tokens", "tp-size", "dp-size", "ep-size",
    "context-length", "page-size", "max-running-requests", "cuda-graph-max-bs", "chunked-prefill-size",
    "mem-fraction-static", "speculative-accept-threshold-single", "speculative-attention-mode",
)  # fmt: skip
FLAG_VALUES = ("99999999999999999999", "-7", "1e308", "nan", "inf", "9" * 5000, "", "x")


def read_keys() -> list[str]:
    """Every key that the checker reads of a mapping, by its source."""
    text = "".join(path.read_text() for path in sorted(ENGINE.rglob("*.py")))
    found = set(re.findall(r"\.get\(\s*\"([a-z][a-z0-9_]+)\"", text)) | set(
        re.findall(r"\"([a-z0-9]+_[a-z0-9_]+)\"", text)
    )
    return sorted(found)


def cases() -> Iterator[tuple[str, dict[str, Any], dict[str, Any], list[str]]]:
    """A name, a target's config, a draft's, and further flags."""
    for index, key in enumerate(read_keys()):
        for at in range(2):
            value = VALUES[(index * 5 + at * 7) % len(VALUES)]
            yield f"target {key} {at}", {**TARGET_CONFIG, key: value}, DRAFT_CONFIG, []
            yield f"draft {key} {at}", TARGET_CONFIG, {**DRAFT_CONFIG, key: value}, []
    for key in (*TARGET_CONFIG, *MORE_KEYS):
        for at, value in enumerate(VALUES):
            yield f"both {key} {at}", {**TARGET_CONFIG, key: value}, {**DRAFT_CONFIG, key: value, "fc_norm": True}, []
    for flag in FLAGS:
        for text in FLAG_VALUES:
            yield f"flag {flag} {text[:20]}", TARGET_CONFIG, DRAFT_CONFIG, [f"--{flag}", text]


def check_everything() -> dict[str, str]:
    """What comes of each case that is not a report within time."""
    resource.setrlimit(resource.RLIMIT_AS, (LIMIT, LIMIT))
    wrong = {}
    with tempfile.TemporaryDirectory() as scratch:
        target, draft = incident_folder(Path(scratch))
        for name, target_config, draft_config, flags in cases():
            (target / "config.json").write_text(json.dumps(target_config))
            (draft / "config.json").write_text(json.dumps(draft_config))
            started = time.process_time()
            try:
                _report(target, draft, flags)
            except Exception as error:
                wrong[name] = repr(error)[:300]
            if time.process_time() - started > SLOWEST_S:
                wrong[name] = f"{time.process_time() - started:.1f} s"
    return wrong


def _report(target: Path, draft: Path, flags: list[str]) -> None:
    collection = Collection()
    collection.add_command(
        ["python3", "-m", "sglang.launch_server", "--model-path", str(target), "--speculative-algorithm", "EAGLE3",
         "--speculative-draft-model-path", str(draft), "--speculative-num-steps", "3", "--speculative-eagle-topk", "1",
         "--speculative-num-draft-tokens", "4", *flags]
    )  # fmt: skip
    outcome = collection.outcome()
    for one in outcome.checked:
        text_report(one)
        fix_diffs([one])
    json_report(outcome)
    sarif_report(outcome)


@pytest.fixture(scope="module")
def outcomes() -> dict[str, str]:
    done = subprocess.run(
        [sys.executable, "-m", "tests.check.test_hostile_configs"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    found: dict[str, str] = json.loads(done.stdout)
    return found


def test_every_config_and_flag_ends_in_a_report(outcomes: dict[str, str]) -> None:
    assert outcomes == {}


if __name__ == "__main__":
    sys.stdout.write(json.dumps(check_everything()))
