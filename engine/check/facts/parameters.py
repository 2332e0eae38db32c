"""The parameters of SGLang's draft classes and the shapes that a config gives them."""

from collections.abc import Mapping

from engine.check.facts.draft import DraftFacts
from engine.check.facts.plausible import MOST_LAYERS, implausible
from engine.check.facts.target import integer
from engine.check.flags.release import version_key

Shape = tuple[int | None, ...]


def expected_parameters(draft: DraftFacts) -> Mapping[str, Shape] | None:
    """Name to shape of all that a checkpoint must fill; `None` for classes whose parameters are not known here, and
    for a config with numbers that no model has.

    Source: sglang 0.5.23, models/llama_eagle3.py, models/kimi_k25_eagle3.py and models/dflash.py, `load_weights` and
    constructors.
    """
    if draft.hidden_size is None or any(implausible(draft.config)) or draft.aux_count > MOST_LAYERS:
        return None
    if draft.family == "eagle3_llama":
        return _llama(draft, draft.hidden_size)
    if draft.family == "eagle3_mla":
        return _mla(draft, draft.hidden_size)
    if draft.architecture in DFLASH_CLASSES:
        return _dflash(draft, draft.hidden_size)
    return None


DFLASH_CLASSES = frozenset({"DFlashDraftModel", "DFlash2DraftModel"})


def optional_parameters(draft: DraftFacts) -> Mapping[str, Shape]:
    """Name to shape of what may be there beside: taken, or dropped on purpose.

    The first layer's projection of query, key and value has no bias and no norms in the EAGLE-3 classes, whatever the
    config says; that of the output has one with `attention_bias` or `bias` (sglang 0.5.23, models/llama_eagle3.py).
    """
    vocabulary = integer(draft.config.get("vocab_size"))
    found: dict[str, Shape] = {
        "embed_tokens.weight": (vocabulary, draft.hidden_size),
        "lm_head.weight": (None, None),
        "fc.weight": (None, None),
        "d2t": (None,),
        "t2d": (None,),
    }
    if draft.config.get("attention_bias") or draft.config.get("bias"):
        layers = integer(draft.config.get("num_hidden_layers")) or 1
        found |= {f"layers.{index}.self_attn.o_proj.bias": (draft.hidden_size,) for index in range(layers)}
    return found


OPTIONAL_ENDINGS = (".rotary_emb.inv_freq", "_scale", "_scale_inv", "_zero_point")
"""Of buffers that are computed, and of quantised layers."""


def _llama(draft: DraftFacts, hidden: int) -> Mapping[str, Shape]:
    found: dict[str, Shape] = {"norm.weight": (hidden,)}
    for layer in range(integer(draft.config.get("num_hidden_layers")) or 1):
        found.update(_llama_layer(draft, layer, hidden))
    if not (draft.wants_final_states and draft.fc is None):
        found["fc.weight"] = (hidden, None)
    if draft.config.get("draft_vocab_size") is not None and draft.config.get("tie_word_embeddings") is not True:
        found["lm_head.weight"] = (None, hidden)
    return {**found, **_around(draft, hidden)}


def _around(draft: DraftFacts, hidden: int) -> Mapping[str, Shape]:
    """What both EAGLE-3 classes have where the config says so."""
    found: dict[str, Shape] = {}
    if not draft.shares_embeddings:
        found["embed_tokens.weight"] = (integer(draft.config.get("vocab_size")), hidden)
    if draft.config.get("fc_norm") or draft.config.get("use_aux_norm"):
        found.update({f"fc_norm.{index}.weight": (draft.target_hidden_size,) for index in range(draft.aux_count)})
    if draft.config.get("bias"):
        found["fc.bias"] = (hidden,)
    before = draft.eagle_config or {}
    whole = _times(draft.target_hidden_size, draft.aux_count)
    wanted = before.get("norm_before_fc", draft.config.get("norm_before_fc"))
    if wanted and draft.family == "eagle3_llama" and version_key(draft.release) >= version_key("0.5.20"):
        found["input_norm.weight"] = (whole,)
    return found


def _mla(draft: DraftFacts, hidden: int) -> Mapping[str, Shape]:
    """One layer with multi-head latent attention over embedding and state side by side."""
    config = draft.config
    heads, middle = integer(config.get("num_attention_heads")), integer(config.get("intermediate_size"))
    query_rank, key_rank = integer(config.get("q_lora_rank")), integer(config.get("kv_lora_rank"))
    plain, rotary = integer(config.get("qk_nope_head_dim")), integer(config.get("qk_rope_head_dim"))
    value = integer(config.get("v_head_dim"))
    attention: dict[str, Shape] = {
        "q_a_proj": (query_rank, 2 * hidden),
        "q_a_layernorm": (query_rank,),
        "q_b_proj": (_times(heads, _plus(plain, rotary)), query_rank),
        "kv_a_proj_with_mqa": (_plus(key_rank, rotary), 2 * hidden),
        "kv_a_layernorm": (key_rank,),
        "kv_b_proj": (_times(heads, _plus(plain, value)), key_rank),
        "o_proj": (hidden, _times(heads, value)),
    }
    found: dict[str, Shape] = {f"layers.0.self_attn.{name}.weight": shape for name, shape in attention.items()}
    found |= {f"layers.0.{name}.weight": shape for name, shape in _mlp(hidden, middle).items()}
    norms = ("input_layernorm", "hidden_norm", "post_attention_layernorm")
    found |= {f"layers.0.{name}.weight": (hidden,) for name in norms}
    found |= {"norm.weight": (hidden,), "fc.weight": (hidden, None)}
    if config.get("draft_vocab_size") is not None and config.get("tie_word_embeddings") is not True:
        found["lm_head.weight"] = (None, hidden)
    return {**found, **_around(draft, hidden)}


def _dflash(draft: DraftFacts, hidden: int) -> Mapping[str, Shape]:
    """Layers with norms of query and key, and a projection of the captured states; the rest is the target's."""
    found: dict[str, Shape] = {"fc.weight": (hidden, None), "hidden_norm.weight": (hidden,), "norm.weight": (hidden,)}
    heads, kv_heads, head = _heads(draft, hidden)
    layer: dict[str, Shape] = {
        "self_attn.q_proj": (_times(heads, head), hidden),
        "self_attn.k_proj": (_times(kv_heads, head), hidden),
        "self_attn.v_proj": (_times(kv_heads, head), hidden),
        "self_attn.o_proj": (hidden, _times(heads, head)),
        "self_attn.q_norm": (head,),
        "self_attn.k_norm": (head,),
        "input_layernorm": (hidden,),
        "post_attention_layernorm": (hidden,),
        **_mlp(hidden, integer(draft.config.get("intermediate_size"))),
    }
    for index in range(integer(draft.config.get("num_hidden_layers")) or 1):
        found |= {f"layers.{index}.{name}.weight": shape for name, shape in layer.items()}
    return found


def _llama_layer(draft: DraftFacts, layer: int, hidden: int) -> dict[str, Shape]:
    config, prefix = draft.config, f"layers.{layer}."
    heads, kv_heads, head = _heads(draft, hidden)
    query, key = _times(heads, head), _times(kv_heads, head)
    middle = integer(
        config.get("intermediate_size_mlp" if config.get("model_type") == "llama4_text" else "intermediate_size")
    )
    incoming = 2 * hidden if layer == 0 else hidden
    shapes: dict[str, Shape] = {
        "self_attn.q_proj.weight": (query, incoming),
        "self_attn.k_proj.weight": (key, incoming),
        "self_attn.v_proj.weight": (key, incoming),
        "self_attn.o_proj.weight": (hidden, query),
        **{f"{name}.weight": shape for name, shape in _mlp(hidden, middle).items()},
        "post_attention_layernorm.weight": (hidden,),
        "input_layernorm.weight": (hidden,),
    }
    if layer == 0:
        shapes["hidden_norm.weight"] = (hidden,)
    return {prefix + name: shape for name, shape in shapes.items()}


def _heads(draft: DraftFacts, hidden: int) -> tuple[int | None, int | None, int | None]:
    """Attention heads, key-value heads, and the width of one."""
    heads = integer(draft.config.get("num_attention_heads"))
    kv_heads = integer(draft.config.get("num_key_value_heads")) or heads
    return heads, kv_heads, integer(draft.config.get("head_dim")) or (hidden // heads if heads else None)


def _mlp(hidden: int, middle: int | None) -> Mapping[str, Shape]:
    return {"mlp.gate_proj": (middle, hidden), "mlp.up_proj": (middle, hidden), "mlp.down_proj": (hidden, middle)}


def _times(one: int | None, other: int | None) -> int | None:
    return one * other if one and other else None


def _plus(one: int | None, other: int | None) -> int | None:
    return one + other if one is not None and other is not None else None
