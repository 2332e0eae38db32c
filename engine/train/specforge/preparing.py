"""Reads what a plan needs: target, draft config, data, its manifest, this host."""

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from engine.train.specforge.plan import CannotPlan, Trainer, TrainingPlan
from engine.train.specforge.problems import Surroundings

TEMPLATES = {
    "llama": "llama3", "qwen": "qwen", "deepseek": "deepseek-v3", "kimi": "kimi-k2-instruct", "gpt_oss": "gpt-oss",
    "glm": "glm-5.2", "gemma": "gemma", "phi3": "phi3",
}  # fmt: skip
"""Model type to chat template (SpecForge a6b6b02, data/template.py)."""
OLD_SCRIPT = Path("scripts") / "train_eagle3.py"


def target_config(target: str) -> Mapping[str, Any]:
    """The part of a target's config that describes its language model. Raises `CannotPlan`."""
    from engine.check.models import read_model

    model = read_model(target, "target")
    if model.config is None:
        reason = model.problems[0].message if model.problems else "no config.json"
        raise CannotPlan(f"{target}: {reason}", "give the target's folder, or fetch it into the cache")
    inner = model.config.get("text_config")
    return inner if isinstance(inner, Mapping) else model.config


def draft_of(target: str, file: Path | None, draft_vocab_size: int | None) -> dict[str, Any]:
    """The draft's config: from a file or folder, or made for the target. Raises `CannotPlan`."""
    from engine.check.flags.release import choose_release
    from engine.check.models import read_model
    from engine.train.draft_config import CannotDraft, draft_config

    if file is None:
        try:
            return draft_config(read_model(target, "target"), "llama", draft_vocab_size, choose_release(None).name)
        except CannotDraft as error:
            raise CannotPlan(str(error), error.remedy) from error
    path = file / "config.json" if file.is_dir() else file
    try:
        found = json.loads(path.read_bytes())
    except (OSError, ValueError) as error:
        raise CannotPlan(f"{path}: {error}", "make one: alula train config --target ... --output ...") from error
    if not isinstance(found, dict) or "hidden_size" not in found:
        raise CannotPlan(f"{path} is no draft config", "make one: alula train config --target ... --output ...")
    return found


def chat_template(config: Mapping[str, Any]) -> str:
    """SpecForge's template for a model type; `llama3`, its own default, where none is known."""
    kind = str(config.get("model_type", ""))
    return next((name for start, name in TEMPLATES.items() if kind.startswith(start)), "llama3")


def manifest_beside(data: Path) -> dict[str, Any]:
    """What `alula regen export` or `alula data prepare` wrote beside the data; empty where nothing is."""
    for path in (data.with_name(f"{data.stem}.manifest.json"), data.with_name("manifest.json")):
        try:
            found = json.loads(path.read_bytes())
        except (OSError, ValueError):
            continue
        if isinstance(found, dict):
            return found
    return {}


def sample_count(data: Path) -> int:
    """Lines of a JSONL file that hold something. Raises `CannotPlan`."""
    try:
        with data.open("rb") as stream:
            count = sum(1 for line in stream if line.strip())
    except OSError as error:
        raise CannotPlan(f"{data} cannot be read: {error.strerror}", "give a JSONL file with --data") from error
    if count == 0:
        raise CannotPlan(f"{data} holds no conversation", "see how far the regeneration is: alula regen status")
    return count


def token_count(manifest: Mapping[str, Any], samples: int, max_length: int) -> int:
    """Tokens of all conversations: by the manifest, and never more than the maximum length allows."""
    most = samples * max_length
    counted = [manifest.get(name) for name in ("prompt_tokens", "completion_tokens")]
    return min(most, sum(one for one in counted if isinstance(one, int))) if any(counted) else most


def trainer_of(checkout: Path | None) -> Trainer:
    """The older script where the checkout has it, else the program `specforge`."""
    return "specforge-old" if checkout is not None and (checkout / OLD_SCRIPT).is_file() else "specforge"


def surroundings(
    plan: TrainingPlan, config: Mapping[str, Any], gpu_memory: int | None, preparing: Path | None
) -> Surroundings:
    """What is there on this host. `preparing` is where hidden states are to be written."""
    folder = preparing or plan.folder
    while not folder.exists():
        folder = folder.parent
    found = plan.trainer == "specforge-old" or shutil.which("specforge") is not None
    if preparing is not None:
        found = found and plan.checkout is not None and (plan.checkout / "scripts/prepare_hidden_states.py").is_file()
    return Surroundings(
        free_disk=shutil.disk_usage(folder).free,
        gpu_memory=gpu_memory,
        context=_integer(config.get("max_position_embeddings")),
        hidden=_integer(config.get("hidden_size")),
        program_found=found,
        preparing=preparing is not None,
    )


def _integer(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
