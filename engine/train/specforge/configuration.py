"""The run.yaml of `specforge train` (a6b6b02, config/schema.py), and the arguments of the scripts."""

import math
from pathlib import Path
from typing import Any

from engine.train.specforge.plan import CONFIG_FILE, TrainingPlan

DRAFT_FILE = "draft.json"
CAPTURE_BATCH = 32
"""Conversations that `prepare_hidden_states.py` captures at once; a rest of fewer is never captured (`drop_last`)."""


def run_config(plan: TrainingPlan) -> dict[str, Any]:
    """The configuration as a mapping. What differs between the old script's defaults and these is always stated.

    An online training is disaggregated: SpecForge starts the capture server and Mooncake itself (`managed_local`).
    """
    source = {"hidden_states_path": str(plan.hidden_states)} if plan.offline else {"train_data_path": str(plan.data)}
    ids = _captured_layers(plan)
    model = {
        "target_model_path": plan.target,
        "draft_model_config": str(plan.folder / DRAFT_FILE),
        "target_backend": "sglang",
        "torch_dtype": "bfloat16",
        "vocab_mapping_path": str(plan.vocabulary_map) if plan.vocabulary_map else "",
        **({"aux_hidden_state_layer_ids": ids} if ids else {}),
        **({} if plan.offline else {"sglang_mem_fraction_static": plan.memory_fraction}),
    }
    training = {
        "strategy": "eagle3",
        "num_epochs": plan.epochs,
        **({"max_steps": plan.max_steps} if plan.max_steps else {}),
        "batch_size": plan.batch,
        "accumulation_steps": plan.accumulation,
        "learning_rate": plan.learning_rate,
        "ttt_length": plan.ttt_length,
        "attention_backend": plan.attention,
        "kl_decay": 1.0,
        "save_interval": plan.save_interval,
        "log_interval": plan.log_interval,
        "dist_timeout": 20,
        "seed": plan.seed,
        **({"resume_from": str(plan.resume_from)} if plan.resume_from else {}),
    }
    return {
        "run_id": plan.name,
        "output_dir": str(plan.output),
        "model": model,
        "data": {
            **source,
            "max_length": plan.max_length,
            "chat_template": plan.chat_template,
            "cache_dir": str(plan.folder / "cache"),
        },
        "training": training,
        "deployment": _deployment(plan),
    }


def command(plan: TrainingPlan, program: str = "specforge", python: str = "python") -> list[str]:
    """What starts the training. The older script counts `--max-num-steps` in batches, not in optimizer steps."""
    if plan.trainer == "specforge":
        return [program, "train", "-c", str(plan.folder / CONFIG_FILE)]
    states = ["--train-hidden-states-path", str(plan.hidden_states)] if plan.offline else []
    steps = ["--max-num-steps", str(plan.max_steps * plan.accumulation)] if plan.max_steps else []
    resume = ["--resume"] if plan.resume_from else []
    return [
        *(python, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node", str(len(plan.trainer_gpus))),
        str((plan.checkout or Path()) / "scripts" / "train_eagle3.py"),
        *("--target-model-path", plan.target, "--draft-model-config", str(plan.folder / DRAFT_FILE)),
        *("--train-data-path", str(plan.data), *states, "--output-dir", str(plan.output)),
        *("--chat-template", plan.chat_template, "--max-length", str(plan.max_length)),
        *("--num-epochs", str(plan.epochs), *steps, "--batch-size", str(plan.batch)),
        *("--draft-accumulation-steps", str(plan.accumulation), "--learning-rate", str(plan.learning_rate)),
        *("--ttt-length", str(plan.ttt_length), "--attention-backend", "flex_attention"),
        *("--save-interval", str(plan.save_interval), "--log-interval", str(plan.log_interval)),
        *("--seed", str(plan.seed), *resume),
    ]


def preparation(plan: TrainingPlan, output: Path, python: str = "python", heads: int | None = None) -> list[str]:
    """What turns conversations into hidden states (scripts/prepare_hidden_states.py); it passes over what exists.

    Args:
        plan: Whose conversations.
        output: Folder of the states.
        python: Of SpecForge's environment.
        heads: Attention heads of the target: the GPUs that share one copy of it must divide them.
    """
    gpus = len(plan.trainer_gpus)
    shared = math.gcd(gpus, heads or gpus)
    batch = min(CAPTURE_BATCH, max(1, (plan.samples or CAPTURE_BATCH) // (gpus // shared)))
    return [
        *(python, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node", str(gpus)),
        str((plan.checkout or Path()) / "scripts" / "prepare_hidden_states.py"),
        *("--target-model-path", plan.target, "--data-path", str(plan.data), "--output-path", str(output)),
        *(_captured_by_layers(plan) if plan.trainer == "specforge-old" else _captured_for_draft(plan)),
        *("--chat-template", plan.chat_template, "--max-length", str(plan.max_length)),
        *("--tp-size", str(shared), "--batch-size", str(batch)),
    ]


def _captured_for_draft(plan: TrainingPlan) -> list[str]:
    return ["--strategy", "eagle3", "--draft-model-config", str(plan.folder / DRAFT_FILE)]


def _captured_by_layers(plan: TrainingPlan) -> list[str]:
    """The script before July 2026 knows neither strategy nor draft; its training counts the vocabulary itself."""
    ids = _captured_layers(plan)
    return ["--enable-aux-hidden-states", *(["--aux-hidden-states-layers", ",".join(map(str, ids))] if ids else [])]


def _captured_layers(plan: TrainingPlan) -> list[int]:
    found = plan.draft.get("eagle_config")
    ids = found.get("eagle_aux_hidden_state_layer_ids") if isinstance(found, dict) else None
    return ids if isinstance(ids, list) else []


def _deployment(plan: TrainingPlan) -> dict[str, Any]:
    trainer = {"nnodes": 1, "nproc_per_node": len(plan.trainer_gpus)}
    if plan.offline:
        return {"mode": "local_colocated", "trainer": trainer}
    capture = [str(gpu) for gpu in plan.capture_gpus]
    managed = {
        "trainer_cuda_visible_devices": [str(gpu) for gpu in plan.trainer_gpus],
        "capture_servers": [
            {"port": plan.capture_port, "cuda_visible_devices": capture, "tp_size": len(capture)},
        ],
    }
    stack = {"control_dir": str(plan.folder / plan.control), "backend": "mooncake", "managed_local": managed}
    return {"mode": "disaggregated", "trainer": trainer, "disaggregated": stack}
