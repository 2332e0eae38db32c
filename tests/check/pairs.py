"""Deployments built on disk and read by the real readers: a command, a target, a draft."""

import json
import shlex
import struct
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from engine.check.deployment import assemble
from engine.check.records import Deployment, LiveServer
from engine.check.sources.reading import find_servers

BYTES = {"BF16": 2, "F16": 2, "F32": 4, "I64": 8, "I32": 4, "F8_E4M3": 1, "U8": 1, "BOOL": 1}
Config = dict[str, Any]
Tensors = dict[str, tuple[Any, ...]]


def write_tensors(path: Path, tensors: Mapping[str, Sequence[Any]]) -> None:
    """A header over a sparse body of zeros; a third item of a tensor gives its values as 64-bit numbers."""
    header, offset, values = {}, 0, []
    for name, (dtype, shape, *given) in tensors.items():
        size = BYTES[dtype]
        for length in shape:
            size *= length
        header[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": [offset, offset + size]}
        values += [(offset, struct.pack(f"<{len(one)}q", *one)) for one in given]
        offset += size
    encoded = json.dumps(header).encode()
    with path.open("wb") as file:
        file.write(struct.pack("<Q", len(encoded)) + encoded)
        file.truncate(8 + len(encoded) + offset)
        for at, content in values:
            file.seek(8 + len(encoded) + at)
            file.write(content)


def model(folder: Path, config: Config | None, tensors: Tensors | None = None, files: Mapping[str, str] = {}) -> Path:
    """A model's folder."""
    folder.mkdir(parents=True, exist_ok=True)
    if config is not None:
        (folder / "config.json").write_text(json.dumps(config))
    for name, text in files.items():
        (folder / name).write_text(text)
    if tensors:
        write_tensors(folder / "model.safetensors", tensors)
    return folder


def deployment(
    command: str, root: Path, release: str | None = "0.5.23", *, live: LiveServer | None = None
) -> Deployment:
    """Read a launch script; `{target}` and `{draft}` stand for the folders under `root`."""
    text = command.replace("{target}", shlex.quote(f"{root}/target")).replace("{draft}", shlex.quote(f"{root}/draft"))
    launch = find_servers(text, str(root / "launch.sh"), None).launches[0]
    return assemble(launch, sglang_version=release, live=live)


def eagle3_tensors(config: Config, fc_in: int, *, embeddings: bool = False) -> Tensors:
    """All tensors of a sound Llama-form draft with this config."""
    hidden, middle = config["hidden_size"], config["intermediate_size"]
    head = config.get("head_dim") or hidden // config["num_attention_heads"]
    query, key = head * config["num_attention_heads"], head * config["num_key_value_heads"]
    shapes: dict[str, tuple[int, ...]] = {
        "fc.weight": (hidden, fc_in),
        "midlayer.self_attn.q_proj.weight": (query, 2 * hidden),
        "midlayer.self_attn.k_proj.weight": (key, 2 * hidden),
        "midlayer.self_attn.v_proj.weight": (key, 2 * hidden),
        "midlayer.self_attn.o_proj.weight": (hidden, query),
        "midlayer.mlp.gate_proj.weight": (middle, hidden),
        "midlayer.mlp.up_proj.weight": (middle, hidden),
        "midlayer.mlp.down_proj.weight": (hidden, middle),
        "midlayer.input_layernorm.weight": (hidden,),
        "midlayer.hidden_norm.weight": (hidden,),
        "midlayer.post_attention_layernorm.weight": (hidden,),
        "norm.weight": (hidden,),
    }
    draft_vocab = config["draft_vocab_size"]
    if draft_vocab is not None:
        shapes["lm_head.weight"] = (draft_vocab, hidden)
    if embeddings:
        shapes["embed_tokens.weight"] = (config["vocab_size"], hidden)
    found: Tensors = {name: ("BF16", shape) for name, shape in shapes.items()}
    if draft_vocab is not None and draft_vocab < config["vocab_size"]:
        spare = config["vocab_size"] - draft_vocab
        found["d2t"] = ("I64", (draft_vocab,), tuple(min(index, spare) for index in range(draft_vocab)))
        found["t2d"] = ("BOOL", (config["vocab_size"],))
    return found


def mla_tensors(config: Config, fc_in: int, *, head: int | None = None) -> Tensors:
    """All tensors of a sound draft with multi-head latent attention; `head` is the rows of its own LM head."""
    hidden, middle, heads = config["hidden_size"], config["intermediate_size"], config["num_attention_heads"]
    query, key, rotary = config["q_lora_rank"], config["kv_lora_rank"], config["qk_rope_head_dim"]
    plain, value = config["qk_nope_head_dim"], config["v_head_dim"]
    layer: dict[str, tuple[int, ...]] = {
        "self_attn.q_a_proj": (query, 2 * hidden), "self_attn.q_a_layernorm": (query,),
        "self_attn.q_b_proj": (heads * (plain + rotary), query),
        "self_attn.kv_a_proj_with_mqa": (key + rotary, 2 * hidden), "self_attn.kv_a_layernorm": (key,),
        "self_attn.kv_b_proj": (heads * (plain + value), key), "self_attn.o_proj": (hidden, heads * value),
        "mlp.gate_proj": (middle, hidden), "mlp.up_proj": (middle, hidden), "mlp.down_proj": (hidden, middle),
        "input_layernorm": (hidden,), "hidden_norm": (hidden,), "post_attention_layernorm": (hidden,),
    }  # fmt: skip
    found: Tensors = {f"layers.0.{name}.weight": ("BF16", shape) for name, shape in layer.items()}
    found |= {"fc.weight": ("BF16", (hidden, fc_in)), "norm.weight": ("BF16", (hidden,))}
    return found if head is None else {**found, "lm_head.weight": ("BF16", (head, hidden))}


def dflash_tensors(config: Config, layers_captured: int) -> Tensors:
    """All tensors of a sound DFlash draft."""
    hidden, middle, head = config["hidden_size"], config["intermediate_size"], config["head_dim"]
    query, key = head * config["num_attention_heads"], head * config["num_key_value_heads"]
    layer: dict[str, tuple[int, ...]] = {
        "self_attn.q_proj": (query, hidden), "self_attn.k_proj": (key, hidden), "self_attn.v_proj": (key, hidden),
        "self_attn.o_proj": (hidden, query), "self_attn.q_norm": (head,), "self_attn.k_norm": (head,),
        "mlp.gate_proj": (middle, hidden), "mlp.up_proj": (middle, hidden), "mlp.down_proj": (hidden, middle),
        "input_layernorm": (hidden,), "post_attention_layernorm": (hidden,),
    }  # fmt: skip
    found: Tensors = {
        f"layers.{index}.{name}.weight": ("BF16", shape)
        for index in range(config["num_hidden_layers"])
        for name, shape in layer.items()
    }
    found["fc.weight"] = ("BF16", (hidden, layers_captured * hidden))
    return {**found, "hidden_norm.weight": ("BF16", (hidden,)), "norm.weight": ("BF16", (hidden,))}
