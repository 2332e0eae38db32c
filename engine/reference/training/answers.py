"""The target's own answers, in large batches: what the draft is trained on."""

from collections.abc import Iterator
from typing import Any

import numpy
import torch
from numpy.typing import NDArray
from torch.nn import functional

from engine.reference.training.models import Tensors, gated, head_of, normed, projected_heads, rotary_table, rotated
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
    precision = torch.bfloat16 if prompts.is_cuda else torch.float32
    weights = {name: tensor.to(precision) for name, tensor in weights.items()}
    rows = prompts.shape[0]
    tokens = torch.full((rows, total + 1), END_OF_TEXT_ID, dtype=torch.long, device=prompts.device)
    tokens[:, : prompts.shape[1]] = prompts
    ended = torch.zeros(rows, dtype=torch.bool, device=prompts.device)
    cache = torch.zeros(
        (shape.layers, 2, rows, shape.key_value_heads, total, shape.head_width),
        dtype=precision,
        device=prompts.device,
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


def marked(rows: NDArray[Any], lengths: NDArray[Any]) -> Iterator[tuple[NDArray[Any], NDArray[Any]]]:
    """Each row up to its end of turn, and which of its tokens are the answer; rows without an answer are left out."""
    for row, length in zip(rows, lengths, strict=True):
        ends = numpy.flatnonzero(row[length:] == TURN_END_ID)
        last = int(length) + int(ends[0]) + 1 if len(ends) else len(row)
        if last > length:
            yield row[:last], numpy.arange(last) >= length


def _one_position(
    weights: Tensors, column: torch.Tensor, position: int, cache: torch.Tensor, shape: Shape
) -> torch.Tensor:
    states = functional.embedding(column, weights["model.embed_tokens.weight"])[:, None, :].to(cache.dtype)
    group = shape.key_value_heads, shape.heads // shape.key_value_heads
    table = rotary_table(torch.tensor([position], device=column.device), shape)
    for layer in range(shape.layers):
        prefix = f"model.layers.{layer}."
        inner = normed(states, weights[prefix + "input_layernorm.weight"], shape.norm_epsilon)
        query, key, value = projected_heads(weights, prefix, inner, shape)
        cache[layer, 0, :, :, position] = rotated(key, table)[:, :, 0]
        cache[layer, 1, :, :, position] = value[:, :, 0]
        keys, values = cache[layer, 0, :, :, : position + 1], cache[layer, 1, :, :, : position + 1]
        grouped = rotated(query, table).squeeze(2).unflatten(1, group)
        scores = grouped @ keys.transpose(2, 3) / shape.head_width**0.5
        mixed = (scores.float().softmax(-1).to(values.dtype) @ values).flatten(1)[:, None, :]
        states = states + functional.linear(mixed, weights[prefix + "self_attn.o_proj.weight"])
        inner = normed(states, weights[prefix + "post_attention_layernorm.weight"], shape.norm_epsilon)
        states = states + gated(weights, prefix, inner)
    states = normed(states[:, 0], weights["model.norm.weight"], shape.norm_epsilon)
    return functional.linear(states, head_of(weights)).float()


def _chosen(logits: torch.Tensor, temperatures: torch.Tensor) -> torch.Tensor:
    noise = -torch.log(-torch.log(torch.rand_like(logits).clamp(1e-9, 1 - 1e-7)))
    return (logits + temperatures[:, None] * noise).argmax(-1)
