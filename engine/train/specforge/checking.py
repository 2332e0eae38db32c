"""The checker on a training's recipe, and on what a training leaves behind."""

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import yaml

from engine.train.specforge.plan import TrainingPlan
from engine.train.specforge.problems import Problem, recipe, recipe_problems


def recipe_findings(plan: TrainingPlan, manifest: Mapping[str, Any]) -> list[Problem]:
    """What the rules train-* say of the plan, with the draft served on its target."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "config.json").write_bytes(msgspec.json.encode(plan.draft))
        (folder / "run.yaml").write_text(yaml.safe_dump(recipe(plan, manifest)))
        return recipe_problems(_findings(plan.target, folder, folder / "run.yaml"))


def checkpoint_errors(target: str, draft: Path) -> tuple[str, ...]:
    """Rules that a checkpoint breaks when it is served on its target; empty where it is sound."""
    return tuple(str(one["rule"]) for one in _findings(target, draft, None) if one["severity"] == "error")


def _findings(target: str, draft: Path, training: Path | None) -> list[dict[str, Any]]:
    from engine.check.collect import Collection

    collection = Collection()
    launch = ["python", "-m", "sglang.launch_server", "--model-path", target, "--speculative-algorithm", "EAGLE3"]
    collection.add_command([*launch, "--speculative-draft-model-path", str(draft)])
    if training is not None:
        collection.add_training(str(training))
    outcome = collection.outcome()
    found: list[dict[str, Any]] = msgspec.to_builtins([one for checked in outcome.checked for one in checked.findings])
    return found
