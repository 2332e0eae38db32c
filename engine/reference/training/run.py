"""A whole run of the reference trainer: data, steps, evaluations, checkpoints; it can be stopped and gone on with."""

import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from engine.reference.checkpoint import CheckpointError, shipped_target
from engine.reference.training.checkpoints import checkpoints, newest_state, save_checkpoint
from engine.reference.training.conversations import Conversation, chosen, read_conversations, split
from engine.reference.training.draft_training import DraftTraining
from engine.reference.training.export import read_config, read_draft, read_target
from engine.reference.training.progress import evaluation_line, plan_line, step_line
from engine.reference.training.settings import CannotTrain, HeldOut, TrainingResult, TrainingSettings
from engine.reference.training.shapes import shape_of
from engine.reference.training.vocabulary_map import likely_tokens
from engine.reference.vocabulary import Vocabulary

Report = Callable[[str], None]
FIXED = ("batch", "max_length", "depth", "seed", "learning_rate", "steps", "epochs", "seconds", "samples")
"""Settings that a run must go on with as it began: the place in data and schedule depends on them."""


class Stopped(Exception):
    """The run was told to stop. It has saved `checkpoint` first."""

    def __init__(self, checkpoint: Path) -> None:
        super().__init__(f"stopped; saved {checkpoint}")
        self.checkpoint = checkpoint


def train_reference_draft(
    settings: TrainingSettings, report: Report, stop_wanted: Callable[[], bool] = lambda: False
) -> TrainingResult:
    """Train an EAGLE-3 draft for a small Llama target, on the CPU or one GPU.

    Args:
        settings: What to train, on what, for how long.
        report: Called with each line of progress.
        stop_wanted: Asked after each step.

    Raises:
        CannotTrain: Settings, target, data or an earlier run do not fit.
        Stopped: `stop_wanted` said so.
    """
    _check(settings)
    if settings.threads:
        torch.set_num_threads(settings.threads)
    return _Run(settings, report).finish(stop_wanted)


class _Run:
    def __init__(self, settings: TrainingSettings, report: Report) -> None:
        self.settings, self.report = settings, report
        folder = settings.target or shipped_target()
        self.target_folder, self.target_config = folder, read_config(folder)
        state = newest_state(settings.output) if settings.resume else None
        shape = shape_of(self.target_config, settings.draft_vocab_size)
        rows, self.held = _data(settings, folder, shape.vocabulary)
        self.tokens = int(sum(row.answers.sum() for row in rows))
        weights, covered = _beginning(settings, state)
        if covered is None:
            covered = likely_tokens((row.tokens[row.answers] for row in rows), shape.vocabulary, shape.draft_vocabulary)
        elif len(covered) != shape.draft_vocabulary:
            shape = shape_of(self.target_config, len(covered))
        self.shape, self.training = shape, DraftTraining(settings, shape, read_target(folder), rows, covered, weights)
        if state is not None:
            _check_same(settings, len(rows), state)
            self.training.restore(state)
            report(f"resumed from step {state['step']}")
        settings.output.mkdir(parents=True, exist_ok=True)

    def finish(self, stop_wanted: Callable[[], bool]) -> TrainingResult:
        settings, training = self.settings, self.training
        self.report(plan_line(training.total_steps, settings, len(training.rows), self.tokens, len(self.held)))
        training.warm_up()
        saved, logged = -1, (time.monotonic(), training.schedule.steps)
        while (found := training.step()) is not None:
            step = training.schedule.steps
            if step % settings.log_every == 0 or step == training.total_steps:
                now = time.monotonic()
                pace = (now - logged[0]) / max(1, step - logged[1])
                self.report(step_line(step, *found, training.schedule.rate, pace, training.batch))
                logged = now, step
            if settings.evaluate_every and step % settings.evaluate_every == 0:
                self._evaluate()
            if settings.save_every and step % settings.save_every == 0:
                self._save(None)
                saved = step
            if stop_wanted():
                raise Stopped(self._save(None) if saved != step else checkpoints(settings.output)[-1])
        held = self._evaluate()
        return TrainingResult(
            checkpoint=self._save(held),
            steps=training.schedule.steps,
            samples=len(training.rows),
            tokens=self.tokens,
            seconds=round(training.schedule.elapsed_s, 2),
            held_out=held,
        )

    def _evaluate(self) -> HeldOut | None:
        if not self.held:
            return None
        held = self.training.evaluate(self.held)
        self.report(evaluation_line(self.training.schedule.steps, held))
        return held

    def _save(self, held: HeldOut | None) -> Path:
        training, step = self.training, self.training.schedule.steps
        about: dict[str, Any] = {
            "trainer": "alula-reference",
            "target": str(self.target_folder),
            "data": [str(path) for path in self.settings.data],
            "norm_output": False,
            "training_time_test_depth": self.settings.depth,
            "steps": step,
            "samples": len(training.rows),
            "tokens": self.tokens,
            "held_out": {name: getattr(held, name) for name in held.__struct_fields__} if held else None,
        }
        fixed = {name: getattr(self.settings, name) for name in FIXED} | {"rows": len(training.rows)}
        path = save_checkpoint(
            self.settings.output,
            step,
            training.weights,
            training.covered,
            self.shape,
            self.target_config,
            about,
            training.state() | {"settings": fixed},
        )
        self.report(f"checkpoint {path}")
        return path


def _check(settings: TrainingSettings) -> None:
    ends = [one for one in (settings.steps, settings.epochs, settings.seconds) if one is not None]
    if len(ends) != 1 or ends[0] <= 0:
        raise CannotTrain("a run ends after steps, epochs or seconds", "give one of --steps, --epochs, --seconds")
    for name in ("epochs", "seconds", "learning_rate", "held_out"):
        if not math.isfinite(getattr(settings, name) or 0.0):
            raise CannotTrain(f"--{name.replace('_', '-')} {getattr(settings, name)}", "give a number")
    if settings.batch < 1 or settings.depth < 1 or settings.log_every < 1 or settings.max_length < settings.depth + 3:
        raise CannotTrain(
            "batch, depth, log interval or length is too small", "give at least 1, and a longer maximum length"
        )
    if not settings.resume and checkpoints(settings.output):
        raise CannotTrain(
            f"{settings.output} holds a run already", "go on with it by --resume, or give another --output"
        )


def _data(settings: TrainingSettings, target: Path, size: int) -> tuple[list[Conversation], list[Conversation]]:
    try:
        vocabulary = Vocabulary(target)
    except CheckpointError as error:
        raise CannotTrain(str(error), error.remedy) from error
    rows = read_conversations(settings.data, vocabulary, size, settings.max_length)
    if settings.held_out_data is not None:
        held = read_conversations([settings.held_out_data], vocabulary, size, settings.max_length)
    else:
        rows, held = split(rows, settings.held_out)
    rows = chosen(rows, settings.samples, settings.seed)
    if not rows:
        raise CannotTrain("everything is held out", "give more data, or a smaller --held-out")
    return rows, held


def _beginning(settings: TrainingSettings, state: dict[str, Any] | None) -> tuple[Any, torch.Tensor | None]:
    """Weights and vocabulary map to begin with: those of the state, of another draft, or none."""
    if state is not None:
        return state["weights"], state["covered"]
    return read_draft(settings.start) if settings.start is not None else (None, None)


def _check_same(settings: TrainingSettings, rows: int, state: dict[str, Any]) -> None:
    earlier, now = state["settings"], {name: getattr(settings, name) for name in FIXED} | {"rows": rows}
    changed = [f"{name} was {earlier[name]}, is {now[name]}" for name in now if earlier.get(name) != now[name]]
    if changed:
        raise CannotTrain(
            f"this run began otherwise: {'; '.join(changed)}", "give the same settings, or another --output"
        )
