"""Dimensions of public targets, and configs with them: of the target, and of a draft for it."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from tests.check.pairs import Config


class Shape(NamedTuple):
    """Dimensions of a public target (config.json of its repository; SpecForge's configs)."""

    architecture: str
    kind: str
    hidden: int
    layers: int
    vocab: int
    heads: int
    kv_heads: int
    positions: int
    since: str
    nested: bool = False
    extra: Mapping[str, Any] = MappingProxyType({})


MLA: Config = {
    "q_lora_rank": 1536,
    "kv_lora_rank": 512,
    "qk_nope_head_dim": 128,
    "qk_rope_head_dim": 64,
    "v_head_dim": 128,
}
FP8: Config = {"quantization_config": {"quant_method": "fp8", "weight_block_size": [128, 128]}}
TARGETS = {
    "Llama-3.1-8B": Shape("LlamaForCausalLM", "llama", 4096, 32, 128256, 32, 8, 131072, "0.4.6"),
    "Llama-3.2-1B": Shape(
        "LlamaForCausalLM", "llama", 2048, 16, 128256, 32, 8, 131072, "0.4.6", False, {"tie_word_embeddings": True}
    ),
    "Llama-3.3-70B": Shape("LlamaForCausalLM", "llama", 8192, 80, 128256, 64, 8, 131072, "0.4.6"),
    "Qwen2.5-7B": Shape("Qwen2ForCausalLM", "qwen2", 3584, 28, 152064, 28, 4, 32768, "0.5.2"),
    "Qwen3-4B": Shape("Qwen3ForCausalLM", "qwen3", 2560, 36, 151936, 32, 8, 40960, "0.4.9"),
    "Qwen3-8B": Shape("Qwen3ForCausalLM", "qwen3", 4096, 36, 151936, 32, 8, 40960, "0.4.9"),
    "Qwen3-14B": Shape("Qwen3ForCausalLM", "qwen3", 5120, 40, 151936, 40, 8, 40960, "0.4.9"),
    "Qwen3-32B": Shape("Qwen3ForCausalLM", "qwen3", 5120, 64, 151936, 64, 8, 40960, "0.4.9"),
    "Qwen3-30B-A3B": Shape("Qwen3MoeForCausalLM", "qwen3_moe", 2048, 48, 151936, 32, 4, 40960, "0.4.9"),
    "Qwen3-235B-A22B": Shape("Qwen3MoeForCausalLM", "qwen3_moe", 4096, 94, 151936, 64, 4, 40960, "0.4.9"),
    "Qwen3-Coder-480B-FP8": Shape(
        "Qwen3MoeForCausalLM", "qwen3_moe", 6144, 62, 151936, 96, 8, 262144, "0.4.9", False, FP8
    ),
    "Qwen3-Next-80B": Shape("Qwen3NextForCausalLM", "qwen3_next", 2048, 48, 151936, 16, 2, 262144, "0.5.9"),
    "Qwen3.5-35B-A3B": Shape(
        "Qwen3_5MoeForConditionalGeneration", "qwen3_5_moe", 2048, 40, 248320, 16, 2, 262144, "0.5.13", True
    ),
    "Qwen3-VL-30B": Shape(
        "Qwen3VLMoeForConditionalGeneration", "qwen3_vl_moe", 2048, 48, 151936, 32, 4, 262144, "0.5.12", True
    ),
    "gpt-oss-20b": Shape("GptOssForCausalLM", "gpt_oss", 2880, 24, 201088, 64, 8, 131072, "0.5.2"),
    "gpt-oss-120b": Shape("GptOssForCausalLM", "gpt_oss", 2880, 36, 201088, 64, 8, 131072, "0.5.2"),
    "DeepSeek-V3": Shape(
        "DeepseekV3ForCausalLM",
        "deepseek_v3",
        7168,
        61,
        129280,
        128,
        128,
        163840,
        "0.5.5",
        False,
        {**MLA, **FP8, "num_nextn_predict_layers": 1},
    ),
    "DeepSeek-V3.2": Shape(
        "DeepseekV32ForCausalLM", "deepseek_v32", 7168, 61, 129280, 128, 128, 163840, "0.5.5", False, {**MLA, **FP8}
    ),
    "Kimi-K2": Shape(
        "DeepseekV3ForCausalLM",
        "kimi_k2",
        7168,
        61,
        163840,
        64,
        64,
        131072,
        "0.5.5",
        False,
        {**MLA, **FP8, "num_nextn_predict_layers": 0},
    ),
    "Kimi-K2.5": Shape(
        "KimiK25ForConditionalGeneration", "kimi_k25", 7168, 61, 163840, 64, 64, 262144, "0.5.10", True, MLA
    ),
    "GLM-4.5-Air": Shape("Glm4MoeForCausalLM", "glm4_moe", 4096, 46, 151552, 96, 8, 131072, "0.5.5"),
    "GLM-4.6": Shape("Glm4MoeForCausalLM", "glm4_moe", 5120, 92, 151552, 96, 8, 202752, "0.5.5"),
    "GLM-4.7-Flash": Shape(
        "Glm4MoeLiteForCausalLM", "glm4_moe_lite", 2048, 47, 154880, 20, 20, 202752, "0.5.8", False, MLA
    ),
    "GLM-5": Shape("GlmMoeDsaForCausalLM", "glm_moe_dsa", 6144, 78, 154880, 64, 64, 202752, "0.5.9", False, MLA),
    "MiniMax-M2": Shape("MiniMaxM2ForCausalLM", "minimax_m2", 3072, 62, 200064, 48, 8, 196608, "0.5.6", False, FP8),
    "MiniMax-M3-VL": Shape(
        "MiniMaxM3SparseForConditionalGeneration", "minimax_m3_vl", 6144, 60, 200064, 64, 4, 524288, "0.5.18", True
    ),
    "Llama-4-Scout": Shape(
        "Llama4ForConditionalGeneration", "llama4", 5120, 48, 202048, 40, 8, 10485760, "0.4.9", True
    ),
    "Phi-3.5-mini": Shape("Phi3ForCausalLM", "phi3", 3072, 32, 32064, 32, 32, 131072, "0.4.6"),
    "Mistral-7B": Shape("MistralForCausalLM", "mistral", 4096, 32, 32768, 32, 8, 32768, "0.4.6"),
    "gemma-3-27b": Shape("Gemma3ForConditionalGeneration", "gemma3", 5376, 62, 262208, 32, 16, 131072, "0.5.12", True),
}


def target_config(shape: Shape, **more: Any) -> Config:
    text: Config = {
        "model_type": shape.kind, "hidden_size": shape.hidden, "num_hidden_layers": shape.layers,
        "vocab_size": shape.vocab, "num_attention_heads": shape.heads, "num_key_value_heads": shape.kv_heads,
        "max_position_embeddings": shape.positions, "torch_dtype": "bfloat16", "rope_theta": 1000000.0, **shape.extra,
    }  # fmt: skip
    outer = {"architectures": [shape.architecture], "model_type": shape.kind, **more}
    vision = {"hidden_size": 1152, "num_hidden_layers": 27, "vocab_size": 1}
    return (
        {**outer, "tie_word_embeddings": True, "text_config": text, "vision_config": vision}
        if shape.nested
        else {**text, **outer}
    )


def draft_config(shape: Shape, **more: Any) -> Config:
    heads = max(8, shape.hidden // 128 // 8 * 8)
    return {
        "architectures": ["LlamaForCausalLMEagle3"], "model_type": "llama", "hidden_size": shape.hidden,
        "intermediate_size": 2 * shape.hidden, "num_hidden_layers": 1, "num_attention_heads": heads,
        "num_key_value_heads": 8, "head_dim": 128, "vocab_size": shape.vocab, "draft_vocab_size": 32000,
        "max_position_embeddings": shape.positions, "rope_theta": 10000.0, "torch_dtype": "bfloat16",
        "tie_word_embeddings": False, "rms_norm_eps": 1e-5, **more,
    }  # fmt: skip
