"""The target's own answers, in large batches: what the draft is trained on."""

import torch
from torch.nn import functional

from engine.reference.training.models import Tensors, gated, normed, projected_heads, rotary_table, rotated
from engine.reference.training.shapes import END_OF_TEXT_ID, TURN_END_ID, Shape


def answered(
    weights: Tensors,
    prompts: torch.Tensor,
    lengths: torch.Tensor,
    total: int,
    temperatures: torch.Tensor,
    shape: Shape,
) -> torch.Tensor:
    """Rows of `total` tokens: each prompt, then the target's answer up to its end of turn, then padding.

    `prompts` is `[rows, columns]` with `lengths` valid tokens each; a temperature of 0 takes the likeliest token.
    """
    weights = {name: tensor.bfloat16() for name, tensor in weights.items()}
    rows = prompts.shape[0]
    tokens = torch.full((rows, total + 1), END_OF_TEXT_ID, dtype=torch.long, device=prompts.device)
    tokens[:, : prompts.shape[1]] = prompts
    ended = torch.zeros(rows, dtype=torch.bool, device=prompts.device)
    cache = torch.zeros(
        (shape.layers, 2, rows, 1, total, shape.head_width), dtype=torch.bfloat16, device=prompts.device
    )
    with torch.no_grad():
        for position in range(total):
            logits = _one_position(weights, tokens[:, position], position, cache, shape)
            chosen = _chosen(logits, temperatures)
            chosen = torch.where(ended, END_OF_TEXT_ID, chosen)
            answering = position + 1 >= lengths
            tokens[:, position + 1] = torch.where(answering, chosen, tokens[:, position + 1])
            ended |= answering & (chosen == TURN_END_ID)
    return tokens[:, :total]


def _one_position(
    weights: Tensors, column: torch.Tensor, position: int, cache: torch.Tensor, shape: Shape
) -> torch.Tensor:
    states = functional.embedding(column, weights["model.embed_tokens.weight"])[:, None, :].to(cache.dtype)
    table = rotary_table(torch.tensor([position], device=column.device), shape)
    for layer in range(shape.layers):
        prefix = f"model.layers.{layer}."
        inner = normed(states, weights[prefix + "input_layernorm.weight"], shape.norm_epsilon)
        query, key, value = projected_heads(weights, prefix, inner, shape)
        cache[layer, 0, :, :, position] = rotated(key, table)[:, :, 0]
        cache[layer, 1, :, :, position] = value[:, :, 0]
        keys, values = cache[layer, 0, :, :, : position + 1], cache[layer, 1, :, :, : position + 1]
        scores = rotated(query, table).squeeze(2) @ keys.squeeze(1).transpose(1, 2) / shape.head_width**0.5
        mixed = (scores.float().softmax(-1).to(values.dtype) @ values.squeeze(1)).flatten(1)[:, None, :]
        states = states + functional.linear(mixed, weights[prefix + "self_attn.o_proj.weight"])
        inner = normed(states, weights[prefix + "post_attention_layernorm.weight"], shape.norm_epsilon)
        states = states + gated(weights, prefix, inner)
    states = normed(states[:, 0], weights["model.norm.weight"], shape.norm_epsilon)
    return functional.linear(states, weights["model.embed_tokens.weight"]).float()


def _chosen(logits: torch.Tensor, temperatures: torch.Tensor) -> torch.Tensor:
    noise = -torch.log(-torch.log(torch.rand_like(logits).clamp(1e-9, 1 - 1e-7)))
    return (logits + temperatures[:, None] * noise).argmax(-1)
