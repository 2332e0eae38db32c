"""Checkpoints as SGLang and transformers load them: float16 safetensors and a `config.json` each."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file

from engine.reference.training.models import Tensors
from engine.reference.training.settings import CannotTrain
from engine.reference.training.shapes import END_OF_TEXT_ID, TURN_END_ID, Shape
from engine.reference.training.vocabulary_map import map_tensors

TARGET_NAME = "alula-reference-target"
SPECIAL_IDS = ("bos_token_id", "eos_token_id", "pad_token_id")
FIRST_SHARD = "model.safetensors"


def save_target(weights: Tensors, folder: Path, shape: Shape) -> None:
    """Write a `LlamaForCausalLM` with tied embeddings."""
    folder.mkdir(parents=True, exist_ok=True)
    special = {"bos_token_id": END_OF_TEXT_ID, "eos_token_id": TURN_END_ID, "pad_token_id": END_OF_TEXT_ID}
    _save_weights(weights, folder)
    config = _common(shape, special) | {
        "_name_or_path": TARGET_NAME,
        "architectures": ["LlamaForCausalLM"],
        "num_hidden_layers": shape.layers,
        "intermediate_size": shape.intermediate,
        "tie_word_embeddings": True,
    }
    _save_json(folder / "config.json", config)
    _save_json(folder / "generation_config.json", special)


def save_draft(
    weights: Tensors,
    covered: torch.Tensor,
    folder: Path,
    shape: Shape,
    target_config: Mapping[str, Any],
    training: Mapping[str, Any],
) -> None:
    """Write a `LlamaForCausalLMEagle3`, its vocabulary maps and what it was trained on.

    SGLang captures the input of layer `id + 1`, so the ids in `eagle_config` are one lower than the captured layers
    (sglang 0.5.23, models/llama.py).
    """
    folder.mkdir(parents=True, exist_ok=True)
    _save_weights(weights, folder, map_tensors(covered, shape.vocabulary))
    ids = [layer - 1 for layer in shape.captured_layers]
    special = {key: target_config[key] for key in SPECIAL_IDS if target_config.get(key) is not None}
    config = _common(shape, special) | {
        "architectures": ["LlamaForCausalLMEagle3"],
        "num_hidden_layers": 1,
        "intermediate_size": shape.draft_intermediate,
        "tie_word_embeddings": False,
        "draft_vocab_size": shape.draft_vocabulary,
        "target_hidden_size": shape.hidden,
        "eagle_config": {"eagle_aux_hidden_state_layer_ids": ids, "use_aux_hidden_state": True},
    }
    _save_json(folder / "config.json", config)
    _save_json(folder / "training.json", {"aux_hidden_state_layer_ids": ids} | dict(training))


def read_config(folder: Path) -> dict[str, Any]:
    """A model folder's config.json. Raises `CannotTrain`."""
    path = folder / "config.json"
    try:
        found = json.loads(path.read_bytes())
    except (OSError, ValueError) as error:
        raise CannotTrain(f"{path} cannot be read: {error}", "give a local model folder with --target") from error
    if not isinstance(found, dict):
        raise CannotTrain(f"{path} is no object", "give a local model folder with --target")
    return found


def read_target(folder: Path) -> Tensors:
    """The target's weights as float32. Raises `CannotTrain`."""
    return {name: tensor.float() for name, tensor in _weights(folder).items()}


def read_draft(folder: Path) -> tuple[Tensors, torch.Tensor]:
    """A draft's weights as float32 and the ids that its head covers, as `save_draft` wrote them."""
    tensors = _weights(folder)
    if "d2t" not in tensors or "fc.weight" not in tensors:
        raise CannotTrain(f"{folder} is no EAGLE-3 draft with a vocabulary map", "give a draft of this trainer")
    covered = tensors.pop("d2t") + torch.arange(len(tensors["lm_head.weight"]))
    tensors.pop("t2d", None)
    return {name: tensor.float() for name, tensor in tensors.items()}, covered


def _weights(folder: Path) -> Tensors:
    files = sorted(folder.glob("*.safetensors"))
    if not files:
        raise CannotTrain(f"{folder} holds no safetensors", "give a local model folder")
    try:
        return {name: tensor for path in files for name, tensor in load_file(path).items()}
    except (OSError, SafetensorError) as error:
        raise CannotTrain(f"{folder}: {error}", "give a whole model folder") from error


def _common(shape: Shape, special: Mapping[str, int]) -> dict[str, Any]:
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
        **special,
        "torch_dtype": "float16",
    }


def _save_weights(weights: Tensors, folder: Path, integers: Tensors | None = None) -> None:
    halves = {name: tensor.detach().half().cpu().contiguous() for name, tensor in weights.items()}
    save_file(halves | (integers or {}), str(folder / FIRST_SHARD), metadata={"format": "pt"})


def _save_json(path: Path, content: Mapping[str, Any]) -> None:
    path.write_text(json.dumps(content, indent=2) + "\n")
