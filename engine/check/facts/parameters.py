"""The parameters of SGLang's EAGLE-3 draft classes and the shapes that a config gives them."""

from collections.abc import Mapping

from engine.check.facts.draft import DraftFacts
from engine.check.facts.plausible import MOST_LAYERS, implausible
from engine.check.facts.target import integer

Shape = tuple[int | None, ...]


def expected_parameters(draft: DraftFacts) -> Mapping[str, Shape] | None:
    """Name to shape of all that a checkpoint must fill; `None` for classes whose parameters are not known here, and
    for a config with numbers that no model has.

    Source: sglang 0.5.23, models/llama_eagle3.py and models/kimi_k25_eagle3.py, `load_weights` and constructors.
    """
    if draft.family != "eagle3_llama" or draft.hidden_size is None:
        return None
    if any(implausible(draft.config)) or draft.aux_count > MOST_LAYERS:
        return None
    hidden = draft.hidden_size
    found: dict[str, Shape] = {"norm.weight": (hidden,)}
    for layer in range(integer(draft.config.get("num_hidden_layers")) or 1):
        found.update(_llama_layer(draft, layer, hidden))
    if not (draft.wants_final_states and draft.fc is None):
        found["fc.weight"] = (hidden, None)
    if draft.config.get("draft_vocab_size") is not None and draft.config.get("tie_word_embeddings") is not True:
        found["lm_head.weight"] = (None, hidden)
    if not draft.shares_embeddings:
        found["embed_tokens.weight"] = (None, hidden)
    if draft.config.get("fc_norm") or draft.config.get("use_aux_norm"):
        found.update({f"fc_norm.{index}.weight": (draft.target_hidden_size,) for index in range(draft.aux_count)})
    if draft.config.get("bias"):
        found["fc.bias"] = (hidden,)
    return found


OPTIONAL = ("embed_tokens.weight", "lm_head.weight", "d2t", "t2d", "input_norm.weight", "fc.bias", "fc.weight")
"""Tensors that may be there and are taken, or dropped on purpose."""

OPTIONAL_ENDINGS = (
    ".bias",
    ".rotary_emb.inv_freq",
    "_scale",
    "_scale_inv",
    "_zero_point",
    "k_norm.weight",
    "q_norm.weight",
)


def _llama_layer(draft: DraftFacts, layer: int, hidden: int) -> dict[str, Shape]:
    config, prefix = draft.config, f"layers.{layer}."
    heads = integer(config.get("num_attention_heads"))
    kv_heads = integer(config.get("num_key_value_heads")) or heads
    head = integer(config.get("head_dim")) or (hidden // heads if heads else None)
    query = heads * head if heads and head else None
    key = kv_heads * head if kv_heads and head else None
    middle = integer(
        config.get("intermediate_size_mlp" if config.get("model_type") == "llama4_text" else "intermediate_size")
    )
    incoming = 2 * hidden if layer == 0 else hidden
    shapes: dict[str, Shape] = {
        "self_attn.q_proj.weight": (query, incoming),
        "self_attn.k_proj.weight": (key, incoming),
        "self_attn.v_proj.weight": (key, incoming),
        "self_attn.o_proj.weight": (hidden, query),
        "mlp.gate_proj.weight": (middle, hidden),
        "mlp.up_proj.weight": (middle, hidden),
        "mlp.down_proj.weight": (hidden, middle),
        "post_attention_layernorm.weight": (hidden,),
        "input_layernorm.weight": (hidden,),
    }
    if layer == 0:
        shapes["hidden_norm.weight"] = (hidden,)
    return {prefix + name: shape for name, shape in shapes.items()}
