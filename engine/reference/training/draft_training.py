"""Training of the EAGLE-3 draft on the target's answers, several of its own steps deep (training-time test)."""

from collections.abc import Callable

import torch
from torch.nn import functional

from engine.reference.training.models import (
    Tensors,
    gated,
    new_draft,
    normed,
    projected_heads,
    rotary_table,
    rotated,
    target_states,
)
from engine.reference.training.shapes import END_OF_TEXT_ID, Shape
from engine.reference.training.target_training import Report, Schedule, optimizer_of

DEPTH = 6
DECAY = 0.9


def likely_tokens(answers: torch.Tensor, shape: Shape) -> torch.Tensor:
    """The target ids that the draft's head covers: the most frequent of the answers, in rising order."""
    counts = torch.bincount(answers.flatten(), minlength=shape.vocabulary)
    return counts.topk(shape.draft_vocabulary).indices.sort().values


def train_draft(
    target: Tensors,
    answers: torch.Tensor,
    shape: Shape,
    seconds: float,
    batch: int,
    report: Report,
    *,
    rate: float = 2e-3,
    start: tuple[Tensors, torch.Tensor] | None = None,
) -> tuple[Tensors, torch.Tensor, dict[str, float]]:
    """Weights (float32), the ids its head covers, and what the training came to. Goes on from `start` where given."""
    first, covered = start or (new_draft(shape), likely_tokens(answers, shape))
    covered = covered.to(answers.device)
    weights = {name: tensor.to(answers.device).requires_grad_() for name, tensor in first.items()}
    loss_of = torch.compile(draft_loss, dynamic=False) if answers.is_cuda else draft_loss
    optimizer = optimizer_of(weights, rate, 0.05)
    if answers.is_cuda:  # compiled before the clock starts
        _step(loss_of, weights, target, optimizer, answers[:batch], covered, shape)
    schedule, hits = Schedule(seconds, rate), torch.zeros(DEPTH)
    while schedule.next(optimizer):
        rows = answers[torch.randint(0, len(answers), (batch,), device=answers.device)]
        hits = _step(loss_of, weights, target, optimizer, rows, covered, shape)
        if schedule.steps % 200 == 0:
            report(f"draft step {schedule.steps}: agreement by depth {_rounded(hits)}")
    report(f"draft done: {schedule.steps} steps, agreement by depth {_rounded(hits)}")
    figures = {"steps": schedule.steps} | {f"agreement_{depth + 1}": hit for depth, hit in enumerate(_rounded(hits))}
    return {name: tensor.detach() for name, tensor in weights.items()}, covered, figures


def draft_loss(
    weights: Tensors, target: Tensors, tokens: torch.Tensor, covered: torch.Tensor, shape: Shape
) -> tuple[torch.Tensor, torch.Tensor]:
    """Loss over all depths, and the share of likeliest tokens that draft and target agree on, by depth.

    Slot i holds the target's states at position i and the token at i + 1; the draft answers for position i + 2.
    At depth k it sees its own state from slot i - 1 in place of the target's, and attends to the target-fed slots
    up to i - k and to its own later ones, exactly as a server's chain of draft steps does.
    """
    with torch.no_grad():
        final, captured = target_states(target, tokens, shape)
        wanted = functional.linear(final[:, 1:-1], target["model.embed_tokens.weight"]).float()
        likeliest, wanted = wanted.argmax(-1), wanted.softmax(-1)[..., covered]
        embedded = functional.embedding(tokens[:, 1:-1], target["model.embed_tokens.weight"]).to(final.dtype)
    real = tokens[:, 2:] != END_OF_TEXT_ID
    states = functional.linear(captured[:, :-2], weights["fc.weight"])
    table = rotary_table(torch.arange(states.shape[1], device=tokens.device), shape)
    keys: list[torch.Tensor] = []
    values: list[torch.Tensor] = []
    losses, agreements = [], []
    for depth in range(DEPTH):
        states = _midlayer(weights, embedded, states, table, keys, values, shape)
        logits = functional.linear(
            normed(states, weights["norm.weight"], shape.norm_epsilon), weights["lm_head.weight"]
        ).float()
        counted = real.clone()
        counted[:, :depth] = False
        total = counted.sum().clamp(min=1)
        cost = -(wanted * logits.log_softmax(-1)).sum(-1)
        losses.append(DECAY**depth * torch.where(counted, cost, 0.0).sum() / total)
        agreements.append(((covered[logits.argmax(-1)] == likeliest) & counted).sum() / total)
        states = functional.pad(states, (0, 0, 1, 0))[:, :-1]
    return torch.stack(losses).sum(), torch.stack(agreements).detach()


def _midlayer(
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
    keys.append(rotated(key, table))
    values.append(value)
    mixed = _attended(query, keys, values).transpose(1, 2).flatten(2)
    states = states + functional.linear(mixed, weights["midlayer.self_attn.o_proj.weight"])
    inner = normed(states, weights["midlayer.post_attention_layernorm.weight"], shape.norm_epsilon)
    return states + gated(weights, "midlayer.", inner)


def _attended(query: torch.Tensor, keys: list[torch.Tensor], values: list[torch.Tensor]) -> torch.Tensor:
    depth = len(keys) - 1
    if depth == 0:
        return functional.scaled_dot_product_attention(
            query, keys[0].expand_as(query), values[0].expand_as(query), is_causal=True
        )
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


def _step(
    loss_of: Callable[..., tuple[torch.Tensor, torch.Tensor]],
    weights: Tensors,
    target: Tensors,
    optimizer: torch.optim.Optimizer,
    rows: torch.Tensor,
    covered: torch.Tensor,
    shape: Shape,
) -> torch.Tensor:
    with torch.autocast(rows.device.type, torch.bfloat16):
        loss, agreements = loss_of(weights, target, rows, covered, shape)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(list(weights.values()), 1.0)
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    return agreements


def _rounded(values: torch.Tensor) -> list[float]:
    return [round(value, 4) for value in values.tolist()]
