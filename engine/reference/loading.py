"""From settings to models that are ready to decode."""

import logging
import time

import msgspec

from engine.reference.checkpoint import DRAFT_CLASS, TARGET_CLASS, Checkpoint, ModelConfig, read_checkpoint
from engine.reference.draft import Draft
from engine.reference.runners import PlainRunner, Runner, SpeculativeRunner
from engine.reference.settings import (
    ServerSettings,
    SettingsError,
    Speculation,
    captured_layers,
    resolved_speculation,
)
from engine.reference.target import Target

_log = logging.getLogger("alula.reference")


class Loaded(msgspec.Struct, frozen=True):
    """The models of one server."""

    runner: Runner
    config: ModelConfig
    """The target's."""
    context_length: int
    speculation: Speculation | None
    elapsed_s: float

    @property
    def num_steps(self) -> int:
        """Drafted tokens a step; 0 without speculation."""
        return 0 if self.speculation is None else self.speculation.num_steps


def load(settings: ServerSettings) -> Loaded:
    """Read the models. Raises `CheckpointError` or `SettingsError`."""
    began = time.perf_counter()
    speculation = resolved_speculation(settings)
    checkpoint = read_checkpoint(settings.model_path, TARGET_CLASS)
    context = _context(settings, checkpoint.config.max_position_embeddings)
    if speculation is None:
        runner: Runner = PlainRunner(Target(checkpoint, context), settings.max_running_requests, context)
    else:
        if settings.speculative_num_draft_tokens not in (None, speculation.num_draft_tokens):
            _log.warning("speculative_num_draft_tokens is adjusted to speculative_num_steps + 1 (top-k is 1).")
        runner = _speculative(checkpoint, speculation, settings.max_running_requests, context)
    elapsed_s = time.perf_counter() - began
    _log.info("Load weight end. elapsed=%.2f s, type=%s, dtype=float32.", elapsed_s, TARGET_CLASS)
    return Loaded(runner, checkpoint.config, context, speculation, elapsed_s)


def _speculative(checkpoint: Checkpoint, speculation: Speculation, slots: int, context: int) -> SpeculativeRunner:
    draft_checkpoint = read_checkpoint(speculation.draft_path, DRAFT_CLASS)
    inner, positions = speculation.captures_layers, context + speculation.num_steps
    layers = captured_layers(draft_checkpoint.config, checkpoint.config.num_hidden_layers) if inner else ()
    target = Target(checkpoint, positions, layers)
    draft = Draft(draft_checkpoint, target, positions, own_head=inner)
    return SpeculativeRunner(target, draft, speculation.num_steps, slots, context, inner_states=inner)


def _context(settings: ServerSettings, longest: int) -> int:
    wanted = settings.context_length or longest
    if not 1 < wanted <= longest:
        raise SettingsError(
            f"--context-length {wanted} is outside the model's 2 to {longest} tokens.", "Give a value in that range."
        )
    return wanted
