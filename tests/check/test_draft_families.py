# ruff: noqa: E501 - a table
"""Drafts of every family with one fault each: the fault is found, and nothing else is called an error."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from engine.check.records import Finding
from engine.check.rules import findings
from tests.check.pairs import Config, Tensors, deployment, dflash_tensors, eagle3_tensors, mla_tensors, model
from tests.check.public_targets import MLA, TARGETS, draft_config, target_config

TREE = "--speculative-num-steps 3 --speculative-eagle-topk 1 --speculative-num-draft-tokens 4"
GONE: tuple[Any, ...] = ()
"""In the place of a tensor: it is taken out."""


def served(algorithm: str, more: str = TREE) -> str:
    return (
        f"sglang serve {{target}} --speculative-algorithm {algorithm} --speculative-draft-model-path {{draft}} {more}"
    )


def kimi(**more: Any) -> Config:
    form: Config = {
        **MLA,
        "architectures": ["Eagle3DeepseekV2ForCausalLM"],
        "num_attention_heads": 64,
        "intermediate_size": 18432,
    }
    return draft_config(TARGETS["Kimi-K2.5"], **{**form, **more})


def block(**more: Any) -> Config:
    """A DFlash draft for Qwen3-8B."""
    ids = {"dflash_config": {"target_layer_ids": [1, 9, 17, 25, 33], "mask_token_id": 151669}, "block_size": 16}
    config = draft_config(
        TARGETS["Qwen3-8B"], **{"architectures": ["DFlashDraftModel"], "num_hidden_layers": 5, **ids, **more}
    )
    del config["draft_vocab_size"]
    return config


def found(
    command: str, target: str, draft: Config, tensors: Tensors, root: Path, release: str = "0.5.23"
) -> list[Finding]:
    model(root / "target", target_config(TARGETS[target]))
    model(root / "draft", draft, {name: tensor for name, tensor in tensors.items() if tensor != GONE})
    return list(findings(deployment(command, root, release)))


def errors(found: list[Finding]) -> set[str]:
    return {one.rule for one in found if one.severity == "error"}


D2T: Tensors = {"d2t": ("I64", (32000,), tuple(range(32000)))}
MLA_FAULTS: dict[str, tuple[Config, Mapping[str, Any], set[str]]] = {
    "sound": (kimi(), {}, set()),
    "its fused projections": (kimi(), {"layers.0.self_attn.q_a_proj.weight": GONE, "layers.0.self_attn.kv_a_proj_with_mqa.weight": GONE, "layers.0.self_attn.fused_qkv_a_proj_with_mqa.weight": ("BF16", (2112, 14336))}, set()),
    "no compressed keys": (kimi(), {"layers.0.self_attn.kv_b_proj.weight": GONE}, {"tensor-missing"}),
    "no norm of the states": (kimi(), {"layers.0.hidden_norm.weight": GONE}, {"tensor-missing"}),
    "attention over the state alone": (kimi(), {"layers.0.self_attn.q_a_proj.weight": ("BF16", (1536, 7168))}, {"tensor-shape-mismatch"}),
    "norms that are not there": (kimi(fc_norm=True), {}, {"tensor-missing"}),
    "no head, though one is declared": (kimi(draft_vocab_size=163840), {"lm_head.weight": GONE, "d2t": GONE}, {"tensor-missing"}),
    "two layers": (kimi(num_hidden_layers=2), {}, {"num-layers-unsupported"}),
    "fc of two layers": (kimi(), {"fc.weight": ("BF16", (7168, 14336))}, {"aux-width-mismatch", "capture-layer-count-mismatch"}),
}  # fmt: skip


@pytest.mark.parametrize("name", MLA_FAULTS)
def test_a_draft_with_latent_attention(name: str, tmp_path: Path) -> None:
    config, changed, expected = MLA_FAULTS[name]
    tensors = {**mla_tensors(config, 21504, head=config["draft_vocab_size"]), **D2T, **changed}
    assert errors(found(served("EAGLE3"), "Kimi-K2.5", config, tensors, tmp_path)) == expected


def test_the_incident_with_latent_attention(tmp_path: Path) -> None:
    tensors = {**mla_tensors(kimi(), 21504, head=32000), **D2T}
    assert errors(found(served("NEXTN"), "Kimi-K2.5", kimi(), tensors, tmp_path)) == {
        "eagle-flag-on-eagle3-draft",
        "fc-bypassed",
    }


def test_names_with_a_prefix_fill_nothing_in_the_class_with_latent_attention(tmp_path: Path) -> None:
    tensors = {f"model.{name}": tensor for name, tensor in mla_tensors(kimi(draft_vocab_size=None), 21504).items()}
    result = found(served("EAGLE3"), "Kimi-K2.5", kimi(draft_vocab_size=None), tensors, tmp_path)
    assert errors(result) == {"tensor-missing"}
    assert len([one for one in result if one.rule == "tensor-missing"]) == 15


BLOCK_FAULTS: dict[str, tuple[Config, Mapping[str, Any], set[str]]] = {
    "sound": (block(), {}, set()),
    "sound, names of another exporter": (block(), {"fc.weight": GONE, "hidden_norm.weight": GONE, "encoder.fc.weight": ("BF16", (4096, 20480)), "encoder.output_norm_enc.weight": ("BF16", (4096,))}, set()),
    "ids at the top": (block(dflash_config={"mask_token_id": 1}, target_layer_ids=[1, 9, 17, 25, 33]), {}, set()),
    "another number of layers": (block(), {"fc.weight": ("BF16", (4096, 12288))}, {"aux-width-mismatch"}),
    "a layer past the last": (block(dflash_config={"target_layer_ids": [1, 9, 17, 25, 36]}), {}, {"capture-layer-out-of-range"}),
    "no norm": (block(), {"hidden_norm.weight": GONE}, {"tensor-missing"}),
    "a layer too few": (block(num_hidden_layers=6), {}, {"tensor-missing"}),
    "other heads": (block(num_attention_heads=16), {}, {"tensor-shape-mismatch"}),
}  # fmt: skip


@pytest.mark.parametrize("name", BLOCK_FAULTS)
def test_a_dflash_draft(name: str, tmp_path: Path) -> None:
    config, changed, expected = BLOCK_FAULTS[name]
    tensors = {**dflash_tensors(block(), 5), **changed}
    assert errors(found(served("DFLASH", ""), "Qwen3-8B", config, tensors, tmp_path)) == expected


def test_a_dflash_draft_on_a_target_of_another_width(tmp_path: Path) -> None:
    result = found(served("DFLASH", ""), "Qwen3-4B", block(), dflash_tensors(block(), 5), tmp_path)
    assert errors(result) == {"draft-hidden-size-mismatch"}


PACKED = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")


@pytest.mark.parametrize(("ending", "dtype"), [("qweight", "U8"), ("weight_packed", "U8")])
def test_a_quantised_draft_is_whole(ending: str, dtype: str, tmp_path: Path) -> None:
    config = draft_config(TARGETS["Qwen3-8B"], draft_vocab_size=None, quantization_config={"quant_method": "awq"})
    tensors: Tensors = {}
    for name, tensor in eagle3_tensors(config, 12288).items():
        packed = name.split(".")[-2] in PACKED
        tensors[name.replace(".weight", f".{ending}") if packed else name] = (dtype, (8, 8)) if packed else tensor
    result = found(served("EAGLE3"), "Qwen3-8B", config, tensors, tmp_path)
    assert errors(result) == set()
    assert "tensor-unused" not in {one.rule for one in result}


@pytest.mark.parametrize(("algorithm", "severity"), [("EAGLE3", "error"), ("STANDALONE", "warning")])
def test_number_formats_that_differ(algorithm: str, severity: str, tmp_path: Path) -> None:
    config = draft_config(TARGETS["Qwen3-8B"], draft_vocab_size=None, torch_dtype="float16")
    tensors = eagle3_tensors(config, 12288)
    if algorithm == "STANDALONE":
        config, tensors = target_config(TARGETS["Qwen3-4B"], torch_dtype="float16"), {}
    result = found(served(algorithm), "Qwen3-8B", config, tensors, tmp_path)
    assert {one.severity for one in result if one.rule == "dtype-mismatch"} == {severity}
