"""The config.json of an EAGLE-3 draft whose dimensions follow from its target."""

from collections.abc import Mapping
from typing import Any, Literal

from engine.check.facts.target import TargetFacts, integer, rope_of
from engine.check.records import Model

Form = Literal["llama", "mla"]
DEFAULT_DRAFT_VOCAB = 32_000
"""Rows of the head in most public EAGLE-3 drafts."""

FEWEST_LAYERS = 8
"""Below this [2, n//2, n-3] are not three different layers."""

HEAD_DIM = 128
MLA_KEYS = ("q_lora_rank", "kv_lora_rank", "qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim")
CARRIED = (
    "bos_token_id",
    "eos_token_id",
    "pad_token_id",
    "rms_norm_eps",
    "rope_parameters",
    "rope_theta",
    "rope_scaling",
)


class CannotDraft(Exception):
    """No draft can be configured for this target. `remedy` says what to do."""

    def __init__(self, message: str, remedy: str) -> None:
        super().__init__(message)
        self.remedy = remedy


def draft_config(target: Model, form: Form, draft_vocab_size: int | None, release: str) -> dict[str, Any]:
    """A draft's config for a target.

    The capture layers are stated in the form that SGLang reads: it adds 1 to each id, so the outputs of layers 1,
    n//2 - 1 and n - 4 are handed over (sglang 0.5.23, `set_eagle3_layers_to_capture`; SpecForge a6b6b02 uses the same).

    Args:
        target: The target, as its files describe it.
        form: `llama` for LlamaForCausalLMEagle3, `mla` for Eagle3DeepseekV2ForCausalLM.
        draft_vocab_size: Rows of the head; 32,000 or the whole vocabulary where not given.
        release: The SGLang release that will serve it.

    Raises:
        CannotDraft: The config is not there, lacks a dimension, or its class hands out no layers in this release.
    """
    facts = TargetFacts(target, release)
    hidden, layers, vocab = _dimensions(target, facts, release)
    config: dict[str, Any] = {
        "architectures": ["LlamaForCausalLMEagle3" if form == "llama" else "Eagle3DeepseekV2ForCausalLM"],
        "model_type": "llama" if form == "llama" else "deepseek_v3",
        "hidden_size": hidden,
        "num_hidden_layers": 1,
        "intermediate_size": integer(facts.config.get("intermediate_size")) or 4 * hidden,
        "hidden_act": "silu",
        **(_llama_attention(facts.config, hidden) if form == "llama" else _mla_attention(facts.config)),
        "vocab_size": vocab,
        "draft_vocab_size": _draft_vocab(draft_vocab_size, vocab),
        "max_position_embeddings": facts.context_length or 4096,
        "tie_word_embeddings": False,
        "torch_dtype": str(_outer(target).get("torch_dtype") or _outer(target).get("dtype") or "bfloat16"),
        "eagle_config": {
            "eagle_aux_hidden_state_layer_ids": [1, layers // 2 - 1, layers - 4],
            "use_aux_hidden_state": True,
        },
    }
    config.update({key: facts.config[key] for key in CARRIED if facts.config.get(key) is not None})
    if rope_of(config)["theta"] is None:
        config["rope_theta"] = 10_000.0
    return config


def _dimensions(target: Model, facts: TargetFacts, release: str) -> tuple[int, int, int]:
    if target.config is None:
        reason = target.problems[0].message if target.problems else "no config.json"
        raise CannotDraft(f"{target.reference}: {reason}", "give the target's folder, or fetch it into the cache")
    if facts.can_capture is False:
        raise CannotDraft(
            f"{facts.architecture} hands out no layers for EAGLE-3 in SGLang {release}",
            "use a later release with --sglang-version, or another algorithm",
        )
    missing = [
        name
        for name, value in (
            ("hidden_size", facts.hidden_size),
            ("num_hidden_layers", facts.layers),
            ("vocab_size", facts.vocab_size),
        )
        if value is None
    ]
    if missing:
        raise CannotDraft(f"the target's config has no {', '.join(missing)}", "give a language model's folder")
    assert facts.hidden_size is not None and facts.layers is not None and facts.vocab_size is not None
    if facts.layers < FEWEST_LAYERS:
        raise CannotDraft(f"the target has {facts.layers} layers", f"EAGLE-3 needs at least {FEWEST_LAYERS}")
    return facts.hidden_size, facts.layers, facts.vocab_size


def _draft_vocab(wanted: int | None, vocab: int) -> int:
    if wanted is not None and not 1 <= wanted <= vocab:
        raise CannotDraft(f"a draft vocabulary of {wanted}", f"give 1 to {vocab}, the target's own")
    return wanted or min(DEFAULT_DRAFT_VOCAB, vocab)


def _llama_attention(config: Mapping[str, Any], hidden: int) -> dict[str, int]:
    """The target's own heads; a target with MLA has none of this kind, so heads of 128 are made."""
    heads, kv_heads = integer(config.get("num_attention_heads")), integer(config.get("num_key_value_heads"))
    if heads is None or config.get("kv_lora_rank"):
        heads = max(1, hidden // HEAD_DIM)
        kv_heads = 8 if heads % 8 == 0 else heads
        head_dim = HEAD_DIM
    else:
        head_dim = integer(config.get("head_dim")) or hidden // heads
    return {"num_attention_heads": heads, "num_key_value_heads": kv_heads or heads, "head_dim": head_dim}


def _mla_attention(config: Mapping[str, Any]) -> dict[str, Any]:
    missing = [key for key in (*MLA_KEYS, "num_attention_heads") if integer(config.get(key)) is None]
    if missing:
        raise CannotDraft(f"the target has no {', '.join(missing)}", "this target has no MLA: use --form llama")
    heads = config["num_attention_heads"]
    return {"num_attention_heads": heads, "num_key_value_heads": heads, **{key: config[key] for key in MLA_KEYS}}


def _outer(target: Model) -> Mapping[str, Any]:
    return target.config or {}
