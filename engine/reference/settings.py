"""What a reference server is started with, named as SGLang's arguments are, and what it resolves to."""

from pathlib import Path

import msgspec

from engine.reference.checkpoint import ModelConfig

ALIASES = {"NEXTN": "EAGLE"}
ALGORITHMS = ("EAGLE", "EAGLE3")
NOT_OFFERED = ("STANDALONE", "NGRAM", "DFLASH", "DSPARK", "UNO", "FROZEN_KV_MTP")
AUTOMATIC_STEPS = 5
"""SGLang's own choice for a `LlamaForCausalLM` target (arg_groups/speculative_hook.py)."""


class SettingsError(Exception):
    """Arguments that cannot be served. `remedy` says what to change."""

    def __init__(self, message: str, remedy: str) -> None:
        super().__init__(message)
        self.remedy = remedy


class ServerSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Arguments of one server. `None` means: not given."""

    model_path: Path
    host: str = "127.0.0.1"
    port: int = 30000
    """0 takes any free port."""
    served_model_name: str | None = None
    context_length: int | None = None
    max_running_requests: int = 48
    speculative_algorithm: str | None = None
    speculative_draft_model_path: Path | None = None
    speculative_num_steps: int | None = None
    speculative_eagle_topk: int | None = None
    speculative_num_draft_tokens: int | None = None
    enable_return_hidden_states: bool = False
    decode_log_interval: int = 40
    """Decode steps between two log lines."""
    api_key: str | None = None
    log_level: str = "info"

    @property
    def model_name(self) -> str:
        """The name that clients see."""
        return self.served_model_name or str(self.model_path)


class Speculation(msgspec.Struct, frozen=True, kw_only=True):
    """Speculative decoding as resolved: a chain (top-k 1) of `num_steps` drafted tokens before each verification."""

    algorithm: str
    draft_path: Path
    num_steps: int

    @property
    def num_draft_tokens(self) -> int:
        """Tokens of one verification: the drafted ones, and the one before them."""
        return self.num_steps + 1

    @property
    def captures_layers(self) -> bool:
        """Only EAGLE3 hands over inner layers; EAGLE hands over the target's final states."""
        return self.algorithm == "EAGLE3"


def resolved_speculation(settings: ServerSettings) -> Speculation | None:
    """Resolve the flags as SGLang 0.5.23 does; `None` without an algorithm. Raises `SettingsError`.

    As in SGLang, other speculative flags without an algorithm leave speculation off without a word.
    """
    if settings.speculative_algorithm is None:
        return None
    name = settings.speculative_algorithm.upper()
    algorithm = ALIASES.get(name, name)
    if algorithm not in ALGORITHMS:
        known = "not offered by the reference server" if algorithm in NOT_OFFERED else "unknown"
        raise SettingsError(f"--speculative-algorithm {name} is {known}.", "Use EAGLE3 or EAGLE.")
    if settings.speculative_draft_model_path is None:
        raise SettingsError(
            f"--speculative-algorithm {name} needs a draft.",
            "Give --speculative-draft-model-path; `alula reference paths` names the draft that comes with Alula.",
        )
    return Speculation(
        algorithm=algorithm, draft_path=settings.speculative_draft_model_path, num_steps=_num_steps(settings)
    )


def _num_steps(settings: ServerSettings) -> int:
    steps, topk = settings.speculative_num_steps, settings.speculative_eagle_topk
    if topk not in (None, 1):
        raise SettingsError(
            f"--speculative-eagle-topk {topk} is not offered: the reference server drafts chains.", "Use top-k 1."
        )
    if steps is None:
        if topk is not None or settings.speculative_num_draft_tokens is not None:
            raise SettingsError(
                "--speculative-eagle-topk and --speculative-num-draft-tokens need --speculative-num-steps.",
                "Give all three flags, or none.",
            )
        return AUTOMATIC_STEPS
    if topk is None or steps < 1:
        raise SettingsError(
            "--speculative-num-steps needs a value of 1 or more, and --speculative-eagle-topk.",
            "Add --speculative-eagle-topk 1.",
        )
    return steps


def captured_layers(draft: ModelConfig, target_layers: int) -> tuple[int, ...]:
    """Layers whose input the target hands over: the draft's ids plus one, else `[2, n//2, n-3]` (models/llama.py)."""
    ids = draft.eagle_config.get("eagle_aux_hidden_state_layer_ids")
    if not ids:
        return 2, target_layers // 2, target_layers - 3
    return tuple(int(layer) + 1 for layer in ids)
