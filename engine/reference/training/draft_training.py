"""The draft in training: its steps, its evaluation, and what a resumption needs."""

from collections.abc import Sequence
from typing import Any

import numpy
import torch

from engine.reference.training.accept_length import simulated_accept_length, walked
from engine.reference.training.conversations import Conversation, batches, padded
from engine.reference.training.draft_loss import Outcome, draft_loss
from engine.reference.training.models import Tensors, new_draft
from engine.reference.training.schedule import Schedule, optimizer_of
from engine.reference.training.settings import HeldOut, TrainingSettings
from engine.reference.training.shapes import END_OF_TEXT_ID, Shape

DECAY_OF_WEIGHTS = 0.05
LARGEST_GRADIENT = 1.0
WARM_UP_SHARE, LEAST_WARM_UP, MOST_WARM_UP = 0.05, 10, 200


class DraftTraining:
    """Weights, optimizer and data of one run. Its state goes into a checkpoint and comes back from one."""

    def __init__(
        self,
        settings: TrainingSettings,
        shape: Shape,
        target: Tensors,
        rows: list[Conversation],
        covered: torch.Tensor,
        weights: Tensors | None = None,
    ) -> None:
        self.settings, self.shape, self.rows = settings, shape, rows
        self.device = "cuda" if torch.cuda.is_available() else "cpu"
        self._target = {name: tensor.to(self.device) for name, tensor in target.items()}
        torch.manual_seed(settings.seed)
        first = weights if weights is not None else new_draft(shape)
        self.weights = {name: tensor.to(self.device).requires_grad_() for name, tensor in first.items()}
        self.covered = covered.to(self.device)
        self.optimizer = optimizer_of(self.weights, settings.learning_rate, DECAY_OF_WEIGHTS)
        self.batch = min(settings.batch, len(rows))
        self._loss = torch.compile(draft_loss, dynamic=False) if self.device == "cuda" else draft_loss
        self._epoch, self._order = -1, list[Any]()
        self.schedule = self._schedule((0, 0.0))

    @property
    def steps_per_epoch(self) -> int:
        """Steps that pass each conversation once."""
        return max(1, len(self.rows) // self.batch)

    @property
    def total_steps(self) -> int | None:
        """Steps of the whole run; `None` where the clock ends it."""
        if self.settings.epochs is not None:
            return max(1, round(self.settings.epochs * self.steps_per_epoch))
        return self.settings.steps

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from a checkpoint's state: weights, optimizer, and the place in the data and the schedule."""
        with torch.no_grad():
            for name, tensor in self.weights.items():
                tensor.copy_(state["weights"][name])
        self.optimizer.load_state_dict(state["optimizer"])
        self.schedule = self._schedule((state["step"], state["elapsed_s"]))

    def state(self) -> dict[str, Any]:
        """What `restore` needs, beside the weights."""
        return {"optimizer": self.optimizer.state_dict(), "elapsed_s": self.schedule.elapsed_s}

    def warm_up(self) -> None:
        """On a GPU, compile before the clock starts."""
        if self.device == "cuda":
            behind = self.schedule.steps, self.schedule.elapsed_s
            self._outcome(self._next_rows(0)).loss.backward()
            self.optimizer.zero_grad(set_to_none=True)
            self.schedule = self._schedule(behind)

    def step(self) -> tuple[Outcome, float] | None:
        """One step, and the norm of its gradient; `None` once the run is over."""
        number = self.schedule.steps
        if not self.schedule.next(self.optimizer):
            return None
        outcome = self._outcome(self._next_rows(number))
        outcome.loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(list(self.weights.values()), LARGEST_GRADIENT)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        return outcome, float(norm)

    def evaluate(self, held: Sequence[Conversation]) -> HeldOut:
        """What the draft comes to on conversations."""
        depth = self.settings.depth
        losses, agreed, counted = numpy.zeros(depth), numpy.zeros(depth), numpy.zeros(depth)
        committed = verifications = 0
        ordered = sorted(held, key=lambda row: len(row.tokens))
        for start in range(0, len(ordered), self.batch):
            part = ordered[start : start + self.batch]
            tokens, answers = padded(part, END_OF_TEXT_ID)
            with torch.no_grad():
                outcome = self._outcome((tokens, answers), compiled=False)
            weight = outcome.counted.cpu().numpy()
            losses += outcome.losses.float().cpu().numpy() * weight
            agreed += outcome.agreement.float().cpu().numpy() * weight
            counted += weight
            named = outcome.named.cpu().numpy()
            for row in range(len(part)):
                one = walked(tokens[row], answers[row], named[:, row])
                committed, verifications = committed + one[0], verifications + one[1]
        shares = numpy.maximum(counted, 1)
        accuracy = tuple(round(float(share), 5) for share in agreed / shares)
        return HeldOut(
            samples=len(held),
            tokens=int(counted[0]),
            loss=round(float((losses / shares).mean()), 5),
            accuracy=accuracy,
            simulated_accept_length=round(simulated_accept_length(accuracy), 4),
            accept_length=round(committed / max(1, verifications), 4),
        )

    def _outcome(self, rows: tuple[Any, Any], compiled: bool = True) -> Outcome:
        tokens, answers = (torch.from_numpy(one).to(self.device) for one in rows)
        loss_of = self._loss if compiled else draft_loss
        with torch.autocast(self.device, torch.bfloat16, enabled=self.device == "cuda"):
            outcome: Outcome = loss_of(
                self.weights, self._target, tokens, answers, self.covered, self.shape, self.settings.depth
            )
        return outcome

    def _next_rows(self, step: int) -> tuple[Any, Any]:
        epoch, place = divmod(step, self.steps_per_epoch)
        if epoch != self._epoch:
            lengths = [len(row.tokens) for row in self.rows]
            self._epoch, self._order = epoch, batches(lengths, self.batch, self.settings.seed, epoch)
        chosen = [self.rows[index] for index in self._order[place]]
        # One width on a GPU, or each width would be compiled for itself.
        return padded(chosen, END_OF_TEXT_ID, self.settings.max_length if self.device == "cuda" else None)

    def _schedule(self, behind: tuple[int, float]) -> Schedule:
        total = self.total_steps
        warm_up = int((total or MOST_WARM_UP / WARM_UP_SHARE / 10) * WARM_UP_SHARE)
        return Schedule(
            self.settings.learning_rate,
            steps=total,
            seconds=self.settings.seconds,
            warm_up=min(MOST_WARM_UP, max(LEAST_WARM_UP, warm_up)),
            behind=behind,
        )
