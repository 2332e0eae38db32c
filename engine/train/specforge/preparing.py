"""Looks at what a plan needs: the target, SpecForge, an earlier try, this host."""

import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from engine.train.specforge.plan import CannotPlan, Trainer, TrainingPlan
from engine.train.specforge.problems import Surroundings

TEMPLATES = {
    "llama4": "llama4", "llama": "llama3", "qwen3_5": "qwen3.5", "qwen": "qwen", "lfm": "lfm", "phi3": "phi3",
    "deepseek_v2": "deepseek-v2", "deepseek_v32": "deepseek-v32", "deepseek": "deepseek-v3", "gemma": "gemma",
    "kimi": "kimi-k2-instruct", "gpt_oss": "gpt-oss", "glm": "glm-5.2",
}  # fmt: skip
"""Start of a model type to chat template, the first that fits (SpecForge a6b6b02, data/template.py)."""
OLD_SCRIPT = Path("scripts") / "train_eagle3.py"
STATES = "rows_*/data_*.ckpt*"
KEPT = ("target", "draft", "samples", "epochs", "max_steps", "batch", "accumulation", "learning_rate", "ttt_length",
        "max_length", "trainer")  # fmt: skip
"""What a checkpoint of SpecForge compares, or its schedule rests on, when a training goes on (training/trainer.py)."""


def target_config(target: str) -> Mapping[str, Any]:
    """The part of a target's config that describes its language model. Raises `CannotPlan`."""
    from engine.check.models import read_model

    model = read_model(target, "target")
    if model.config is None:
        reason = model.problems[0].message if model.problems else "no config.json"
        raise CannotPlan(f"{target}: {reason}", "give the target's folder, or fetch it into the cache")
    inner = model.config.get("text_config")
    return inner if isinstance(inner, Mapping) else model.config


def chat_template(config: Mapping[str, Any]) -> str:
    """SpecForge's template for a model type; `llama3`, its own default, where none is known."""
    kind = str(config.get("model_type", ""))
    return next((name for start, name in TEMPLATES.items() if kind.startswith(start)), "llama3")


def trainer_of(checkout: Path | None) -> Trainer:
    """The older script where the checkout has it, else the program `specforge`."""
    return "specforge-old" if checkout is not None and (checkout / OLD_SCRIPT).is_file() else "specforge"


def environment_of(checkout: Path | None) -> tuple[str | None, str]:
    """SpecForge's program, where there is one, and the Python beside it.

    A checkout's own `.venv` goes before the PATH. Both are absolute: the engine that starts the job may have another
    PATH than the terminal that planned it.
    """
    own = checkout / ".venv" / "bin" / "specforge" if checkout is not None else None
    program = str(own) if own is not None and own.is_file() else shutil.which("specforge")
    for folder in (checkout and checkout / ".venv" / "bin", program and Path(program).absolute().parent):
        if folder and (folder / "python").is_file():
            return program, str(folder / "python")
    return program, shutil.which("python") or sys.executable


def differences(before: TrainingPlan, plan: TrainingPlan) -> tuple[str, ...]:
    """What a plan asks for otherwise than the one that its training was begun with."""
    found = [f"{name} {getattr(before, name)}" for name in KEPT if getattr(before, name) != getattr(plan, name)]
    if len(before.trainer_gpus) != len(plan.trainer_gpus):
        found.append(f"{len(before.trainer_gpus)} GPUs")
    return tuple(text if len(text) <= 80 else f"another {text.split()[0]}" for text in found)


def surroundings(
    plan: TrainingPlan,
    config: Mapping[str, Any],
    gpu_memory: int | None,
    preparing: Path | None,
    differs: tuple[str, ...] = (),
) -> Surroundings:
    """What is there on this host. `preparing` is where hidden states are to be written."""
    folder = preparing or plan.folder
    while not folder.exists():
        folder = folder.parent
    found = plan.trainer == "specforge-old" or environment_of(plan.checkout)[0] is not None
    if preparing is not None:
        found = found and plan.checkout is not None and (plan.checkout / "scripts/prepare_hidden_states.py").is_file()
    return Surroundings(
        free_disk=shutil.disk_usage(folder).free,
        gpu_memory=gpu_memory,
        context=_integer(config.get("max_position_embeddings")),
        hidden=_integer(config.get("hidden_size")),
        program_found=found,
        preparing=preparing is not None,
        states_found=plan.hidden_states is None or next(plan.hidden_states.glob(STATES), None) is not None,
        heads=_integer(config.get("num_attention_heads")),
        differs=differs,
    )


def _integer(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
