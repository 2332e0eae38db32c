"""`alula check --train` and `--break-even`: a recipe and a benchmark's figure beside a launch."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from engine.reference.checkpoint import shipped_draft, shipped_target
from tests.check.loopback import serving


def check(tmp_path: Path, *options: str) -> tuple[int, dict[str, dict[str, Any]]]:
    launch = tmp_path / "launch.sh"
    launch.write_text(
        f"python3 -m sglang.launch_server --model-path {shipped_target()} --speculative-algorithm EAGLE3"
        f" --speculative-draft-model-path {shipped_draft()} --speculative-num-steps 3"
        " --speculative-eagle-topk 1 --speculative-num-draft-tokens 4\n"
    )
    command = [sys.executable, "-m", "console", "check", "--json", *options, str(launch)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.returncode, {one["rule"]: one for one in json.loads(done.stdout)["findings"]}


def test_a_recipe_for_another_target_and_too_many_layers_is_told(tmp_path: Path) -> None:
    recipe = tmp_path / "run.yaml"
    recipe.write_text(
        "model:\n  target_model_path: /models/Qwen3-8B\n  aux_hidden_state_layer_ids: [1, 2, 3, 4]\n"
        "data:\n  chat_template: qwen\n"
    )
    code, found = check(tmp_path, "--train", str(recipe))
    assert code == 1
    assert {"train-target-differs", "train-width-mismatch", "train-template-mismatch"} <= found.keys()


def test_a_fitting_recipe_adds_nothing(tmp_path: Path) -> None:
    recipe = tmp_path / "run.yaml"
    recipe.write_text(f"model:\n  target_model_path: {shipped_target()}\n  aux_hidden_state_layer_ids: [1, 3, 4]\n")
    code, found = check(tmp_path, "--train", str(recipe))
    assert code == 0 and not [rule for rule in found if rule.startswith("train-")]


def test_a_recipe_that_is_none_could_not_be_checked(tmp_path: Path) -> None:
    recipe = tmp_path / "run.yaml"
    recipe.write_text("- just\n- a list\n")
    assert check(tmp_path, "--train", str(recipe))[0] == 2


def test_an_accept_length_under_the_break_even_is_told(tmp_path: Path) -> None:
    info = {
        "model_path": str(shipped_target()), "speculative_algorithm": "EAGLE3", "speculative_num_steps": 3,
        "speculative_draft_model_path": str(shipped_draft()), "speculative_eagle_topk": 1,
        "speculative_num_draft_tokens": 4, "version": "0.5.23", "internal_states": [{"avg_spec_accept_length": 2.1}],
    }  # fmt: skip
    with serving({"/server_info": info}) as (url, _):
        low = check(tmp_path, "--server", url, "--break-even", "2.3")[1]
        enough = check(tmp_path, "--server", url, "--break-even", "2.0")[1]
    assert "live-accept-length-low" in low and "live-accept-length-low" not in enough
