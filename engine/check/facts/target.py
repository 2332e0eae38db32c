"""Facts of a target: its language model's dimensions, and the layers it hands out."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

from engine.check.facts.classes import (
    DEFAULT_PLUS_ONE,
    GPT_OSS,
    OFFSET_ONLY_AFTER_ONE,
    captures_layers,
)
from engine.check.flags.release import version_key
from engine.check.models.json_files import text_config
from engine.check.records import Model


class TargetFacts:
    """Read from the config alone, never from a name."""

    def __init__(self, model: Model | None, release: str) -> None:
        self.model = model
        self.release = release

    @cached_property
    def config(self) -> Mapping[str, Any]:
        """The language model's config; empty where none could be read."""
        return text_config(self.model.config) if self.model is not None and self.model.config is not None else {}

    @cached_property
    def architecture(self) -> str | None:
        """The class that SGLang loads: the outer one of a multimodal model."""
        return first_architecture(self.model.config if self.model is not None else None)

    @cached_property
    def hidden_size(self) -> int | None:
        """Width of one layer's states."""
        return integer(self.config.get("hidden_size"))

    @cached_property
    def layers(self) -> int | None:
        """Layers that the forward pass runs through; loop models run through theirs several times."""
        count = integer(self.config.get("num_hidden_layers"))
        if count is None:
            count = integer(self.config.get("num_layers"))
        loops = integer(self.config.get("num_loops")) or 1
        return count * loops if count is not None else None

    @cached_property
    def vocab_size(self) -> int | None:
        """Rows of the embedding table."""
        return integer(self.config.get("vocab_size"))

    @cached_property
    def can_capture(self) -> bool | None:
        """Whether its class hands out layers under EAGLE3 in this release; `None` where that is not known."""
        return captures_layers(self.architecture, self.release) if self.architecture is not None else None

    def default_capture(self) -> list[int] | None:
        """Layers taken where the draft names none: states before these layers are handed over."""
        if self.layers is None:
            return None
        ids = [2, self.layers // 2, self.layers - 3]
        return [one + 1 for one in ids] if self.architecture in DEFAULT_PLUS_ONE else ids

    def capture_for(self, ids: Sequence[int], release: str | None = None) -> list[int]:
        """Layers taken for the ids of a draft's config, by this class and release.

        Source: sglang 0.5.23, `set_eagle3_layers_to_capture` of each model; boundaries by sglang pulls 25454, 32334.
        """
        key = version_key(release or self.release)
        as_written = (
            self.architecture in OFFSET_ONLY_AFTER_ONE and key >= version_key("0.5.13") and bool(ids) and ids[0] != 1
        ) or (self.architecture == GPT_OSS and key >= version_key("0.5.20") and max(ids, default=0) == self.layers)
        return list(ids) if as_written else [one + 1 for one in ids]

    @cached_property
    def highest_capture(self) -> int | None:
        """The last layer whose input can be taken; gpt-oss also hands out the last layer's output from 0.5.20 on."""
        if self.layers is None:
            return None
        past_end = self.architecture == GPT_OSS and version_key(self.release) >= version_key("0.5.20")
        return self.layers if past_end else self.layers - 1

    @cached_property
    def context_length(self) -> int | None:
        """Positions that the config allows, scaling counted."""
        return derived_context(self.config)


def first_architecture(config: Mapping[str, Any] | None) -> str | None:
    """The first entry of `architectures`."""
    found = (config or {}).get("architectures")
    return str(found[0]) if isinstance(found, list) and found and isinstance(found[0], str) else None


def integer(value: object) -> int | None:
    """The value if it is a whole number."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def derived_context(config: Mapping[str, Any]) -> int | None:
    """Positions by config: the first length key, times the rope factor where the scaling stretches it.

    Source: sglang 0.5.23, utils/hf_transformers_utils.py, `get_context_length`.
    """
    scaling = rope_of(config).get("scaling") or {}
    factor = scaling.get("factor", 1)
    if "original_max_position_embeddings" in scaling or scaling.get("rope_type", scaling.get("type")) == "llama3":
        factor = 1
    for key in ("max_sequence_length", "seq_length", "max_seq_len", "model_max_length", "max_position_embeddings"):
        value = integer(config.get(key))
        if value is not None:
            return int(value * factor) if isinstance(factor, int | float) else value
    return None


def rope_of(config: Mapping[str, Any]) -> dict[str, Any]:
    """Base and scaling of the rotary embedding, from `rope_parameters` (transformers 5) or the older two keys."""
    parameters = config.get("rope_parameters")
    if isinstance(parameters, Mapping):
        kind = parameters.get("rope_type", parameters.get("type"))
        scaling = dict(parameters) if kind not in (None, "default") else None
        return {"theta": parameters.get("rope_theta", config.get("rope_theta")), "scaling": scaling}
    scaling = config.get("rope_scaling")
    return {"theta": config.get("rope_theta"), "scaling": dict(scaling) if isinstance(scaling, Mapping) else None}
