"""Checkpoints as SGLang and transformers load them: float16 safetensors and a `config.json` each."""

import json
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file

from engine.reference.training.models import Tensors
from engine.reference.training.shapes import END_OF_TEXT_ID, TURN_END_ID, Shape

TARGET_NAME = "alula-reference-target"


def save_target(weights: Tensors, folder: Path, shape: Shape) -> None:
    """Write a `LlamaForCausalLM` with tied embeddings."""
    folder.mkdir(parents=True, exist_ok=True)
    _save_weights(weights, folder)
    config = _common(shape) | {
        "_name_or_path": TARGET_NAME,
        "architectures": ["LlamaForCausalLM"],
        "num_hidden_layers": shape.layers,
        "intermediate_size": shape.intermediate,
        "tie_word_embeddings": True,
    }
    _save_json(folder / "config.json", config)
    _save_json(
        folder / "generation_config.json",
        {"bos_token_id": END_OF_TEXT_ID, "eos_token_id": TURN_END_ID, "pad_token_id": END_OF_TEXT_ID},
    )


def save_draft(weights: Tensors, covered: torch.Tensor, folder: Path, shape: Shape, training: dict[str, Any]) -> None:
    """Write a `LlamaForCausalLMEagle3`, its vocabulary maps and what it was trained on.

    SGLang captures the input of layer `id + 1`, so the ids in `eagle_config` are one lower than the captured layers
    (sglang 0.5.23, models/llama.py).
    """
    folder.mkdir(parents=True, exist_ok=True)
    covered = covered.cpu()
    known = torch.zeros(shape.vocabulary, dtype=torch.bool)
    known[covered] = True
    _save_weights(weights, folder, {"d2t": covered - torch.arange(len(covered)), "t2d": known})
    ids = [layer - 1 for layer in shape.captured_layers]
    config = _common(shape) | {
        "architectures": ["LlamaForCausalLMEagle3"],
        "num_hidden_layers": 1,
        "intermediate_size": shape.draft_intermediate,
        "tie_word_embeddings": False,
        "draft_vocab_size": shape.draft_vocabulary,
        "target_hidden_size": shape.hidden,
        "eagle_config": {"eagle_aux_hidden_state_layer_ids": ids, "use_aux_hidden_state": True},
    }
    _save_json(folder / "config.json", config)
    _save_json(folder / "training.json", {"target": TARGET_NAME, "aux_hidden_state_layer_ids": ids} | training)


def read_pair(folder: Path) -> tuple[Tensors, Tensors, torch.Tensor]:
    """The target, the draft and the ids its head covers, as `save_target` and `save_draft` wrote them."""
    target, draft = (load_file(folder / name / "model.safetensors") for name in ("target", "draft"))
    covered = draft.pop("d2t") + torch.arange(len(draft["lm_head.weight"]))
    del draft["t2d"]
    widened = ({name: tensor.float() for name, tensor in weights.items()} for weights in (target, draft))
    return *widened, covered


def _common(shape: Shape) -> dict[str, Any]:
    return {
        "model_type": "llama",
        "hidden_size": shape.hidden,
        "num_attention_heads": shape.heads,
        "num_key_value_heads": shape.key_value_heads,
        "head_dim": shape.head_width,
        "hidden_act": "silu",
        "rms_norm_eps": shape.norm_epsilon,
        "vocab_size": shape.vocabulary,
        "max_position_embeddings": shape.context,
        "rope_theta": shape.rope_theta,
        "rope_scaling": None,
        "attention_bias": False,
        "mlp_bias": False,
        "bos_token_id": END_OF_TEXT_ID,
        "eos_token_id": TURN_END_ID,
        "pad_token_id": END_OF_TEXT_ID,
        "torch_dtype": "float16",
    }


def _save_weights(weights: Tensors, folder: Path, integers: Tensors | None = None) -> None:
    halves = {name: tensor.half().cpu().contiguous() for name, tensor in weights.items()}
    save_file(halves | (integers or {}), str(folder / "model.safetensors"), metadata={"format": "pt"})


def _save_json(path: Path, content: dict[str, Any]) -> None:
    path.write_text(json.dumps(content, indent=2) + "\n")
