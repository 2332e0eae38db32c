"""The draft's loss, several of its own steps deep (training-time test), as a function of weights and tokens."""

from typing import NamedTuple

import torch
from torch.nn import functional

from engine.reference.training.models import (
    Tensors,
    gated,
    head_of,
    normed,
    projected_heads,
    rotary_table,
    rotated,
    shared,
    target_states,
)
from engine.reference.training.shapes import Shape

DECAY = 0.9
"""Weight of a depth's loss relative to the one before it."""


class Outcome(NamedTuple):
    """What a pass over some conversations gives; slot i stands for the token at position i + 2."""

    loss: torch.Tensor
    """The sum over depths, each weighted by `DECAY`."""
    losses: torch.Tensor
    """Cross entropy by depth, `[depth]`, in nats a counted token."""
    agreement: torch.Tensor
    """Share of counted tokens where the draft names the target's likeliest one, `[depth]`."""
    overlap: torch.Tensor
    """Mean of sum(min(p, q)), the chance that sampling accepts, `[depth]`."""
    named: torch.Tensor
    """Target ids that the draft names, `[depth, rows, slots]`."""
    counted: torch.Tensor
    """How many tokens each depth was counted over, `[depth]`."""


def draft_loss(
    weights: Tensors,
    target: Tensors,
    tokens: torch.Tensor,
    answers: torch.Tensor,
    covered: torch.Tensor,
    shape: Shape,
    depths: int,
) -> Outcome:
    """Loss of a draft over `tokens` `[rows, length]`, of which those marked in `answers` count.

    Slot i holds the target's states at position i and the token at i + 1; the draft answers for position i + 2.
    At depth k it sees its own state from slot i - 1 in place of the target's, and attends to the target-fed slots
    up to i - k and to its own later ones, exactly as a server's chain of draft steps does.
    """
    wanted, likeliest, embedded, captured = _teacher(target, tokens, covered, shape)
    states = functional.linear(captured, weights["fc.weight"])
    table = rotary_table(torch.arange(states.shape[1], device=tokens.device), shape)
    keys: list[torch.Tensor] = []
    values: list[torch.Tensor] = []
    losses, agreements, overlaps, named, totals = [], [], [], [], []
    for depth in range(depths):
        states = midlayer(weights, embedded, states, table, keys, values, shape)
        final = normed(states, weights["norm.weight"], shape.norm_epsilon)
        scores = functional.linear(final, weights["lm_head.weight"]).float().log_softmax(-1)
        counted = answers[:, 2:].clone()
        counted[:, :depth] = False
        total = counted.sum()
        share = counted / total.clamp(min=1)
        losses.append((-(wanted * scores).sum(-1) * share).sum())
        ids = covered[scores.argmax(-1)]
        agreements.append(((ids == likeliest) * share).sum())
        overlaps.append((torch.minimum(wanted, scores.detach().exp()).sum(-1) * share).sum())
        named.append(ids)
        totals.append(total)
        states = functional.pad(states, (0, 0, 1, 0))[:, :-1]
    by_depth = torch.stack(losses)
    loss = (by_depth * DECAY ** torch.arange(depths, device=tokens.device)).sum()
    return Outcome(loss, by_depth.detach(), *(torch.stack(one) for one in (agreements, overlaps, named, totals)))


def _teacher(
    target: Tensors, tokens: torch.Tensor, covered: torch.Tensor, shape: Shape
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    """The target's probabilities of the covered tokens, its likeliest token, the embeddings and its inner states."""
    with torch.no_grad():
        final, captured = target_states(target, tokens, shape)
        logits = functional.linear(final[:, 1:-1], head_of(target)).float()
        embedded = functional.embedding(tokens[:, 1:-1], target["model.embed_tokens.weight"]).to(final.dtype)
        return logits.softmax(-1)[..., covered], logits.argmax(-1), embedded, captured[:, :-2]


def midlayer(
    weights: Tensors,
    embedded: torch.Tensor,
    states: torch.Tensor,
    table: tuple[torch.Tensor, torch.Tensor],
    keys: list[torch.Tensor],
    values: list[torch.Tensor],
    shape: Shape,
) -> torch.Tensor:
    """The draft's layer at depth `len(keys)`; appends its own keys and values."""
    inner = torch.cat(
        [
            normed(embedded, weights["midlayer.input_layernorm.weight"], shape.norm_epsilon),
            normed(states, weights["midlayer.hidden_norm.weight"], shape.norm_epsilon),
        ],
        dim=-1,
    )
    query, key, value = projected_heads(weights, "midlayer.", inner, shape)
    query = rotated(query, table)
    keys.append(shared(rotated(key, table), shape))
    values.append(shared(value, shape))
    mixed = _attended(query, keys, values).transpose(1, 2).flatten(2)
    states = states + functional.linear(mixed, weights["midlayer.self_attn.o_proj.weight"])
    inner = normed(states, weights["midlayer.post_attention_layernorm.weight"], shape.norm_epsilon)
    return states + gated(weights, "midlayer.", inner)


def _attended(query: torch.Tensor, keys: list[torch.Tensor], values: list[torch.Tensor]) -> torch.Tensor:
    depth = len(keys) - 1
    if depth == 0:
        return functional.scaled_dot_product_attention(query, keys[0], values[0], is_causal=True)
    length = query.shape[2]
    scale = query.shape[-1] ** -0.5
    before = torch.ones(length, length, dtype=torch.bool, device=query.device).tril(-depth)
    scores = (query @ keys[0].transpose(2, 3)).float().masked_fill(~before, float("-inf"))
    own_keys = [_moved(key, depth - step) for step, key in enumerate(keys[1:], 1)]
    own_values = [_moved(value, depth - step) for step, value in enumerate(values[1:], 1)]
    own = torch.stack([(query * key).float().sum(-1) for key in own_keys], dim=-1)
    shares = (torch.cat([scores, own], dim=-1) * scale).softmax(-1).to(query.dtype)
    mixed = shares[..., :length] @ values[0]
    for step, value in enumerate(own_values):
        mixed = mixed + shares[..., length + step, None] * value
    return mixed


def _moved(heads: torch.Tensor, by: int) -> torch.Tensor:
    """Slots moved later by `by`, so that slot i shows what stood at i - by."""
    return functional.pad(heads, (0, 0, by, 0))[:, :, : heads.shape[2]] if by else heads
