"""Learning rate and optimizer, for a given number of steps or a given time."""

import math
import time

import torch

from engine.reference.training.models import Tensors


class Schedule:
    """A short linear warm-up, then a cosine to nothing. Ends by steps or by the clock.

    A schedule that goes on from an earlier one is given the steps and seconds that are behind it.
    """

    def __init__(
        self,
        peak: float,
        *,
        steps: int | None = None,
        seconds: float | None = None,
        warm_up: int = 200,
        behind: tuple[int, float] = (0, 0.0),
    ) -> None:
        self._peak, self._steps, self._seconds, self._warm_up = peak, steps, seconds, max(1, warm_up)
        self.steps, earlier = behind
        self._began = time.monotonic() - earlier

    @property
    def elapsed_s(self) -> float:
        """Seconds of training, those before a resumption included."""
        return time.monotonic() - self._began

    @property
    def share(self) -> float:
        """How much of it is over, 0 to 1."""
        done = self.steps / self._steps if self._steps else self.elapsed_s / (self._seconds or math.inf)
        return min(1.0, done)

    @property
    def rate(self) -> float:
        """The learning rate of the coming step."""
        warm = min(1.0, (self.steps + 1) / self._warm_up)
        return self._peak * warm * 0.5 * (1 + math.cos(math.pi * self.share))

    def next(self, optimizer: torch.optim.Optimizer) -> bool:
        """Set the rate of the coming step and count it; False once all is done."""
        if self.share >= 1.0:
            return False
        for group in optimizer.param_groups:
            group["lr"] = self.rate
        self.steps += 1
        return True


def optimizer_of(weights: Tensors, rate: float, decay: float) -> torch.optim.Optimizer:
    """AdamW; decay on matrices alone."""
    matrices = [tensor for tensor in weights.values() if tensor.ndim > 1]
    vectors = [tensor for tensor in weights.values() if tensor.ndim == 1]
    groups = [{"params": matrices, "weight_decay": decay}, {"params": vectors, "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, lr=rate, betas=(0.9, 0.95), fused=next(iter(weights.values())).is_cuda)
