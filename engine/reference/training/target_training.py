"""Training of the target on token streams, for a given time."""

from collections.abc import Callable

import numpy
import torch

from engine.reference.training.models import Tensors, new_target, target_loss
from engine.reference.training.schedule import Schedule, optimizer_of
from engine.reference.training.shapes import Shape

Report = Callable[[str], None]


def train_target(
    streams: list[numpy.ndarray], held_back: numpy.ndarray, shape: Shape, seconds: float, batch: int, report: Report
) -> tuple[Tensors, dict[str, float]]:
    """Train on windows drawn evenly from the streams. Returns weights (float32) and what the training came to."""
    device = "cuda" if torch.cuda.is_available() else "cpu"
    weights = {name: tensor.to(device).requires_grad_() for name, tensor in new_target(shape).items()}
    loss_of = torch.compile(target_loss, dynamic=False) if device == "cuda" else target_loss
    tokens = [torch.from_numpy(stream.astype(numpy.int32)).to(device) for stream in streams]
    optimizer = optimizer_of(weights, 3e-3, 0.1)
    for length in (shape.context // 2, shape.context):
        _step(
            loss_of, weights, optimizer, _windows(tokens, length, max(1, batch * shape.context // 2 // length)), shape
        )
    schedule, loss, seen = Schedule(3e-3, seconds=seconds), torch.zeros(()), 0
    while schedule.next(optimizer):
        length = shape.context // 2 if schedule.share < 0.7 else shape.context
        rows = max(1, batch * shape.context // 2 // length)
        loss = _step(loss_of, weights, optimizer, _windows(tokens, length, rows), shape)
        seen += rows * length
        if schedule.steps % 200 == 0:
            report(f"target step {schedule.steps}: loss {loss.item():.4f}, {seen / 1e6:.0f} M tokens")
    weights = {name: tensor.detach() for name, tensor in weights.items()}
    kept = torch.from_numpy(held_back.astype(numpy.int32)).to(device)
    held = _held_back_loss(weights, kept, shape)
    report(f"target done: {schedule.steps} steps, loss {loss.item():.4f}, held back {held:.4f}")
    figures = {"steps": schedule.steps, "tokens": seen, "loss": loss.item(), "held_back_loss": held}
    return weights, figures


def _step(
    loss_of: Callable[..., torch.Tensor],
    weights: Tensors,
    optimizer: torch.optim.Optimizer,
    tokens: torch.Tensor,
    shape: Shape,
) -> torch.Tensor:
    with torch.autocast(tokens.device.type, torch.bfloat16):
        loss = loss_of(weights, tokens, shape)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(list(weights.values()), 1.0)
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    return loss.detach()


def _windows(streams: list[torch.Tensor], length: int, rows: int) -> torch.Tensor:
    parts = []
    for index, stream in enumerate(streams):
        count = rows // len(streams) + (index < rows % len(streams))
        starts = torch.randint(0, stream.numel() - length - 1, (count, 1), device=stream.device)
        parts.append(stream[starts + torch.arange(length + 1, device=stream.device)])
    return torch.cat(parts).long()


def _held_back_loss(weights: Tensors, kept: torch.Tensor, shape: Shape) -> float:
    length = shape.context // 2
    rows = kept[: kept.numel() // (length + 1) * (length + 1)].view(-1, length + 1).long()
    with torch.no_grad(), torch.autocast(rows.device.type, torch.bfloat16):
        losses = [float(target_loss(weights, part, shape)) * len(part) for part in rows.split(16)]
    return sum(losses) / max(1, len(rows))
