"""Target and draft as plain functions of a dictionary of tensors that has the names of the checkpoint."""

import torch
from torch.nn import functional

from engine.reference.training.shapes import Shape

Tensors = dict[str, torch.Tensor]


def new_target(shape: Shape) -> Tensors:
    """Random weights of a `LlamaForCausalLM` with tied embeddings."""
    queries, keys = shape.heads * shape.head_width, shape.key_value_heads * shape.head_width
    weights = {"model.embed_tokens.weight": torch.randn(shape.vocabulary, shape.hidden) * 0.02}
    for layer in range(shape.layers):
        block = _block(shape.hidden, shape.hidden, queries, keys, shape.intermediate, shape.layers)
        weights |= {f"model.layers.{layer}.{name}": tensor for name, tensor in block.items()}
    weights["model.norm.weight"] = torch.ones(shape.hidden)
    return weights


def head_of(weights: Tensors) -> torch.Tensor:
    """The target's head: its own, or the embedding table where they are tied."""
    return weights.get("lm_head.weight", weights["model.embed_tokens.weight"])


def new_draft(shape: Shape) -> Tensors:
    """Random weights of a `LlamaForCausalLMEagle3`, without the vocabulary maps."""
    queries, keys = shape.heads * shape.head_width, shape.key_value_heads * shape.head_width
    block = _block(2 * shape.hidden, shape.hidden, queries, keys, shape.draft_intermediate, 1)
    weights = {f"midlayer.{name}": tensor for name, tensor in block.items()}
    weights["midlayer.hidden_norm.weight"] = torch.ones(shape.hidden)
    weights["fc.weight"] = torch.randn(shape.hidden, shape.hidden * len(shape.captured_layers)) * 0.02
    weights["norm.weight"] = torch.ones(shape.hidden)
    weights["lm_head.weight"] = torch.randn(shape.draft_vocabulary, shape.hidden) * 0.02
    return weights


def _block(inputs: int, hidden: int, queries: int, keys: int, intermediate: int, depth: int) -> Tensors:
    narrow = 0.02 / (2 * depth) ** 0.5
    return {
        "input_layernorm.weight": torch.ones(hidden),
        "self_attn.q_proj.weight": torch.randn(queries, inputs) * 0.02,
        "self_attn.k_proj.weight": torch.randn(keys, inputs) * 0.02,
        "self_attn.v_proj.weight": torch.randn(keys, inputs) * 0.02,
        "self_attn.o_proj.weight": torch.randn(hidden, queries) * narrow,
        "post_attention_layernorm.weight": torch.ones(hidden),
        "mlp.gate_proj.weight": torch.randn(intermediate, hidden) * 0.02,
        "mlp.up_proj.weight": torch.randn(intermediate, hidden) * 0.02,
        "mlp.down_proj.weight": torch.randn(hidden, intermediate) * narrow,
    }


def normed(states: torch.Tensor, weight: torch.Tensor, epsilon: float) -> torch.Tensor:
    """Root-mean-square norm, computed in float32."""
    wide = states.float()
    return (wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + epsilon) * weight).to(states.dtype)


def rotary_table(positions: torch.Tensor, shape: Shape) -> tuple[torch.Tensor, torch.Tensor]:
    """Cosines and sines, `[positions, head width]`."""
    half = torch.arange(0, shape.head_width, 2, device=positions.device).float() / shape.head_width
    angles = positions.float()[:, None] * (shape.rope_theta**-half)[None, :]
    angles = torch.cat([angles, angles], dim=-1)
    return angles.cos(), angles.sin()


def rotated(heads: torch.Tensor, table: tuple[torch.Tensor, torch.Tensor]) -> torch.Tensor:
    """Rotary position embedding in the half-split form of Hugging Face's Llama."""
    cosines, sines = table
    first, second = heads.float().chunk(2, dim=-1)
    return (heads.float() * cosines + torch.cat([-second, first], dim=-1) * sines).to(heads.dtype)


def projected_heads(
    weights: Tensors, prefix: str, states: torch.Tensor, shape: Shape
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Queries, keys and values `[batch, heads, length, head width]`, not yet rotated."""

    def split(name: str, heads: int) -> torch.Tensor:
        flat = functional.linear(states, weights[f"{prefix}self_attn.{name}_proj.weight"])
        return flat.unflatten(-1, (heads, shape.head_width)).transpose(1, 2)

    return split("q", shape.heads), split("k", shape.key_value_heads), split("v", shape.key_value_heads)


def shared(heads: torch.Tensor, shape: Shape) -> torch.Tensor:
    """Keys or values with one head for each of the queries."""
    return heads.repeat_interleave(shape.heads // shape.key_value_heads, dim=1)


def gated(weights: Tensors, prefix: str, states: torch.Tensor) -> torch.Tensor:
    """The SwiGLU block."""
    gate = functional.silu(functional.linear(states, weights[f"{prefix}mlp.gate_proj.weight"]))
    up = functional.linear(states, weights[f"{prefix}mlp.up_proj.weight"])
    return functional.linear(gate * up, weights[f"{prefix}mlp.down_proj.weight"])


def target_states(weights: Tensors, tokens: torch.Tensor, shape: Shape) -> tuple[torch.Tensor, torch.Tensor]:
    """Final normed states, and the concatenated inputs of the captured layers, in the precision of autocast, if any."""
    states = functional.embedding(tokens, weights["model.embed_tokens.weight"])
    if torch.is_autocast_enabled(tokens.device.type):
        states = states.to(torch.get_autocast_dtype(tokens.device.type))
    table = rotary_table(torch.arange(tokens.shape[1], device=tokens.device), shape)
    captured = []
    for layer in range(shape.layers):
        prefix = f"model.layers.{layer}."
        if layer in shape.captured_layers:
            captured.append(states)
        inner = normed(states, weights[prefix + "input_layernorm.weight"], shape.norm_epsilon)
        query, key, value = projected_heads(weights, prefix, inner, shape)
        query, key, value = rotated(query, table), shared(rotated(key, table), shape), shared(value, shape)
        mixed = functional.scaled_dot_product_attention(query, key, value, is_causal=True)
        mixed = mixed.transpose(1, 2).flatten(2)
        states = states + functional.linear(mixed, weights[prefix + "self_attn.o_proj.weight"])
        inner = normed(states, weights[prefix + "post_attention_layernorm.weight"], shape.norm_epsilon)
        states = states + gated(weights, prefix, inner)
    return normed(states, weights["model.norm.weight"], shape.norm_epsilon), torch.cat(captured, dim=-1)


def target_loss(weights: Tensors, tokens: torch.Tensor, shape: Shape) -> torch.Tensor:
    """Mean negative log-likelihood in nats a token; `tokens` has one column more than is predicted."""
    states, _ = target_states(weights, tokens[:, :-1], shape)
    logits = functional.linear(states, head_of(weights))
    return functional.cross_entropy(logits.flatten(0, 1).float(), tokens[:, 1:].flatten())
