"""What the checker says of a recipe's launch before it is made."""

from pathlib import Path

import pytest

from engine.jobs.recipes.catalogue import load_catalogue
from engine.jobs.recipes.command import Launch
from engine.jobs.recipes.config_check import UNCHECKED, findings_of
from engine.reference.checkpoint import shipped_draft, shipped_target

RECIPES = load_catalogue(Path("/nowhere")).recipes


def launch(folder: Path, *argv: str, config: str = "run.yaml") -> Launch:
    return Launch(argv=argv, name="x", kind="x", working_dir=str(folder), parameters={"config": config})


def test_a_recipe_without_a_check_says_nothing(tmp_path: Path) -> None:
    assert findings_of(RECIPES["command"], launch(tmp_path, "true"), None) == ()


def test_a_draft_under_the_wrong_flag_is_an_error_before_the_launch(tmp_path: Path) -> None:
    command = (
        f"python3 -m sglang.launch_server --model-path {shipped_target()} --speculative-algorithm EAGLE"
        f" --speculative-draft-model-path {shipped_draft()} --speculative-num-steps 3"
        " --speculative-eagle-topk 1 --speculative-num-draft-tokens 4"
    )
    found = findings_of(RECIPES["sglang-eagle3"], launch(tmp_path, *command.split()), None)
    assert found[0].severity == "error" and "eagle-flag-on-eagle3-draft" in [one.rule for one in found]


@pytest.mark.parametrize(
    ("text", "words"), [(None, "run.yaml"), ("- a\n- list\n", "no mapping"), ("", "no mapping"), ("a: [", "run.yaml")]
)
def test_a_training_file_that_cannot_be_read_is_an_error(text: str | None, words: str, tmp_path: Path) -> None:
    if text is not None:
        (tmp_path / "run.yaml").write_text(text)
    (found,) = findings_of(RECIPES["specforge-train"], launch(tmp_path), None)
    assert (found.rule, found.severity) == (UNCHECKED, "error") and words in found.title and found.remedy


def test_a_training_file_is_checked_beside_its_target(tmp_path: Path) -> None:
    text = f"model:\n  target_model_path: {shipped_target()}\ndata:\n  chat_template: deepseek-v3\n"
    (tmp_path / "run.yaml").write_text(text)
    found = findings_of(RECIPES["specforge-train"], launch(tmp_path), None)
    assert "train-template-mismatch" in [one.rule for one in found]
