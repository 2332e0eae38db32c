"""Small model folders on disk: a config, and a safetensors header over a body of zeros that takes no space."""

import json
import struct
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

BYTES = {"BF16": 2, "I64": 8}
TARGET_CONFIG: dict[str, Any] = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_hidden_layers": 8,
    "num_attention_heads": 4,
    "num_key_value_heads": 4,
    "vocab_size": 256,
    "max_position_embeddings": 4096,
    "torch_dtype": "bfloat16",
}
DRAFT_CONFIG: dict[str, Any] = {
    **TARGET_CONFIG,
    "architectures": ["LlamaForCausalLMEagle3"],
    "num_hidden_layers": 1,
    "draft_vocab_size": 256,
}
DRAFT_SHAPES: dict[str, Sequence[int]] = {
    "fc.weight": (64, 192),
    "midlayer.self_attn.q_proj.weight": (64, 128),
    "midlayer.self_attn.k_proj.weight": (64, 128),
    "midlayer.self_attn.v_proj.weight": (64, 128),
    "midlayer.self_attn.o_proj.weight": (64, 64),
    "midlayer.mlp.gate_proj.weight": (128, 64),
    "midlayer.mlp.up_proj.weight": (128, 64),
    "midlayer.mlp.down_proj.weight": (64, 128),
    "midlayer.input_layernorm.weight": (64,),
    "midlayer.hidden_norm.weight": (64,),
    "midlayer.post_attention_layernorm.weight": (64,),
    "norm.weight": (64,),
    "lm_head.weight": (256, 64),
}


def write_model(folder: Path, config: Mapping[str, Any], shapes: Mapping[str, Sequence[int]] | None = None) -> Path:
    """A model folder; without shapes it has no weights."""
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps(config))
    if shapes is not None:
        header, offset = {}, 0
        for name, shape in shapes.items():
            size = BYTES["BF16"]
            for length in shape:
                size *= length
            header[name] = {"dtype": "BF16", "shape": list(shape), "data_offsets": [offset, offset + size]}
            offset += size
        encoded = json.dumps(header).encode()
        with (folder / "model.safetensors").open("wb") as file:
            file.write(struct.pack("<Q", len(encoded)) + encoded)
            file.truncate(8 + len(encoded) + offset)
    return folder


def incident_folder(folder: Path) -> tuple[Path, Path]:
    """A target and its EAGLE-3 draft, both sound."""
    return write_model(folder / "target", TARGET_CONFIG), write_model(folder / "draft", DRAFT_CONFIG, DRAFT_SHAPES)
