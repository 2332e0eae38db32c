"""What a training by SpecForge is asked for."""

from pathlib import Path
from typing import Any, Literal

import msgspec

RELEASE = "SpecForge 0.2.0 (a6b6b02)"
"""What the configuration is written for."""

OLD_RELEASE = "SpecForge before July 2026 (40d8fef)"

Trainer = Literal["specforge", "specforge-old"]
PLAN_FILE, CONFIG_FILE, OUTPUT = "training.json", "run.yaml", "output"


class CannotPlan(Exception):
    """A training that cannot be planned. `remedy` says what to do."""

    def __init__(self, message: str, remedy: str) -> None:
        super().__init__(message)
        self.remedy = remedy


class TrainingPlan(msgspec.Struct, frozen=True, kw_only=True):
    """One training. Paths are absolute, but a target may be a repository id."""

    name: str
    folder: Path
    """Holds configuration, draft config, checkpoints and the job's own folder."""
    trainer: Trainer = "specforge"
    checkout: Path | None = None
    """Of SpecForge; the wheel has no scripts, so preparations and the older trainer need one."""
    target: str
    draft: dict[str, Any]
    """The draft's config.json."""
    data: Path
    """Conversations; for an offline training they were or will be turned into hidden states."""
    hidden_states: Path | None = None
    """Folder of prepared states: an offline training."""
    vocabulary_map: Path | None = None
    samples: int | None = None
    """Conversations in the data."""
    tokens: int | None = None
    """In all of them, cut to the maximum length."""
    chat_template: str = "llama3"
    max_length: int = 2048
    epochs: int = 10
    max_steps: int | None = None
    batch: int = 1
    accumulation: int = 1
    learning_rate: float = 1e-4
    ttt_length: int = 7
    attention: str = "sdpa"
    save_interval: int = 1000
    log_interval: int = 10
    seed: int = 0
    trainer_gpus: tuple[int, ...] = (0,)
    capture_gpus: tuple[int, ...] = ()
    """Of the server that gives the states of an online training."""
    capture_port: int = 30000
    memory_fraction: float = 0.75
    """Of a capture GPU's memory, for SGLang."""
    control: str = "control"
    """Folder of an online training's processes: SpecForge refuses one that is there already."""
    resume_from: Path | None = None

    @property
    def offline(self) -> bool:
        """The states are on disk."""
        return self.hidden_states is not None

    @property
    def release(self) -> str:
        """What it is trained by, in words."""
        return RELEASE if self.trainer == "specforge" else OLD_RELEASE

    @property
    def output(self) -> Path:
        """Folder of the checkpoints."""
        return self.folder / OUTPUT

    @property
    def total_steps(self) -> int | None:
        """Optimizer steps; `None` where the number of samples is not known."""
        if self.max_steps is not None or self.samples is None:
            return self.max_steps
        step = self.batch * self.accumulation * len(self.trainer_gpus)
        return max(1, self.epochs * self.samples // step)
