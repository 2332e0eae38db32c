"""What a training of a draft is asked for, and what it gives. Imports nothing heavy."""

from pathlib import Path

import msgspec

RUN_NAME = "reference"
"""Checkpoints are named after it, as SpecForge names them after its run id: `reference-step400`."""


class CannotTrain(Exception):
    """A training that cannot be begun or gone on with. `remedy` says what to do."""

    def __init__(self, message: str, remedy: str) -> None:
        super().__init__(message)
        self.remedy = remedy


class TrainingSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Settings of one run of the reference trainer. One of `steps`, `epochs` and `seconds` ends it."""

    data: tuple[Path, ...]
    """JSONL: `conversations` or `messages`, or `input_ids` with `loss_mask`."""
    output: Path
    """Folder of the checkpoints."""
    target: Path | None = None
    """Folder of a `LlamaForCausalLM`; the shipped target where not given."""
    steps: int | None = None
    epochs: float | None = None
    seconds: float | None = None
    samples: int | None = None
    """Only so many; those of a smaller number are among those of a larger one, for the same seed."""
    batch: int = 8
    """Conversations in a step."""
    max_length: int = 512
    """Tokens; what is longer is cut."""
    depth: int = 6
    """Steps of the training-time test: how many of its own states the draft is fed in a row."""
    learning_rate: float = 2e-3
    """At its peak."""
    draft_vocab_size: int | None = None
    """Rows of the head; half of the target's vocabulary where not given."""
    held_out: float = 0.05
    """Share of the conversations that is kept back, chosen by their content."""
    held_out_data: Path | None = None
    """These conversations are held out in its place."""
    start: Path | None = None
    """Draft whose weights and vocabulary map are gone on with."""
    save_every: int = 0
    """Steps between checkpoints; 0 saves at the end alone."""
    evaluate_every: int = 0
    """Steps between evaluations on what is held out; 0 evaluates at the end alone."""
    log_every: int = 10
    seed: int = 1
    threads: int | None = None
    """CPU threads; torch's own choice where not given."""
    resume: bool = False
    """Go on from the newest checkpoint in `output`."""


class HeldOut(msgspec.Struct, frozen=True, kw_only=True):
    """What a draft comes to on conversations that it was not trained on."""

    samples: int
    tokens: int
    """Answer tokens that were counted."""
    loss: float
    accuracy: tuple[float, ...]
    """By depth: share of tokens where the draft names the target's likeliest one, given the true tokens before it
    (SpecForge's `acc_i`)."""
    simulated_accept_length: float
    """1 + a0 + a0 a1 + ... of `accuracy`: SpecForge's `simulated_acc_len` and the bonus token."""
    accept_length: float
    """Tokens a verification, bonus counted, of a greedy chain of `depth` steps that is walked through the answers."""


class TrainingResult(msgspec.Struct, frozen=True, kw_only=True):
    """What a run came to."""

    checkpoint: Path
    """Folder that a server can load."""
    steps: int
    samples: int
    """Conversations it was trained on."""
    tokens: int
    """Answer tokens in them."""
    seconds: float
    held_out: HeldOut | None
