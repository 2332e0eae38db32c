"""Facts of a draft: its family, the states it was made for, its vocabulary, its tensors under SGLang's names."""

from collections.abc import Mapping
from functools import cached_property
from typing import Any

from engine.check.facts.classes import EAGLE3_FAMILIES, DraftFamily, family_of
from engine.check.facts.target import first_architecture, integer
from engine.check.flags.release import version_key
from engine.check.models.json_files import text_config
from engine.check.records import Model, Tensor

LEGACY_NAMES = {
    "aux_norm_low": "fc_norm.0", "aux_norm_mid": "fc_norm.1", "aux_norm_high": "fc_norm.2",
    "encoder.fc.": "fc.", "encoder.output_norm_enc.": "hidden_norm.",
}  # fmt: skip
"""Other spellings that `load_weights` takes (sglang 0.5.23, models/llama_eagle3.py and models/dflash.py)."""


class DraftFacts:
    """Tensors first, config second."""

    def __init__(self, model: Model | None, release: str) -> None:
        self.model = model
        self.release = release

    @cached_property
    def config(self) -> Mapping[str, Any]:
        """Its config; empty where none could be read."""
        config = self.model.config if self.model is not None else None
        return text_config(config) if config is not None else {}

    @cached_property
    def architecture(self) -> str | None:
        """The class that its config names."""
        return first_architecture(self.model.config if self.model is not None else None)

    @cached_property
    def tensors(self) -> Mapping[str, Tensor] | None:
        """Tensors under the names that SGLang gives them: without `model.`, `midlayer` as `layers.0`."""
        if self.model is None or self.model.tensors is None:
            return None
        named = mla_name if family_of(self.architecture) == "eagle3_mla" else sglang_name
        return {named(name): tensor for name, tensor in self.model.tensors.items()}

    @cached_property
    def family(self) -> DraftFamily | None:
        """By architecture; an ordinary Llama class with EAGLE-3 tensors is an EAGLE-3 draft under a wrong name."""
        if (self.model.config or {} if self.model else {}).get("speculators_model_type") == "eagle3":
            return "eagle3_foreign"
        family = family_of(self.architecture)
        return "eagle3_as_llama" if family in (None, "causal") and self.has_eagle3_tensors else family

    @cached_property
    def is_eagle3(self) -> bool:
        """Whether it was trained as an EAGLE-3 draft."""
        return self.family in EAGLE3_FAMILIES or (self.family == "eagle" and self.has_eagle3_tensors)

    @cached_property
    def has_eagle3_tensors(self) -> bool:
        """Whether its tensors can only be those of an EAGLE-3 draft."""
        tensors = self.tensors or {}
        if {"d2t", "t2d"} & tensors.keys() or "layers.0.hidden_norm.weight" in tensors:
            return True
        fc = tensors.get("fc.weight")
        return fc is not None and len(fc.shape) == 2 and fc.shape[1] >= 3 * fc.shape[0]

    @cached_property
    def hidden_size(self) -> int | None:
        """Width of its own states."""
        return integer(self.config.get("hidden_size"))

    @cached_property
    def target_hidden_size(self) -> int | None:
        """Width of one target layer that it was made for; its own width where the config names none."""
        return integer(self.config.get("target_hidden_size")) or self.hidden_size

    @cached_property
    def shares_embeddings(self) -> bool:
        """Whether SGLang replaces its embedding table by the target's (sglang 0.5.23, models/llama.py, set_embed)."""
        return self.target_hidden_size == self.hidden_size

    @cached_property
    def vocab_size(self) -> int | None:
        """Its own idea of the target's vocabulary."""
        return integer(self.config.get("vocab_size"))

    @cached_property
    def draft_vocab_size(self) -> int | None:
        """Rows of its head; the whole vocabulary where the config says null or nothing."""
        return integer(self.config.get("draft_vocab_size")) or self.vocab_size

    @cached_property
    def eagle_config(self) -> Mapping[str, Any] | None:
        """The nested `eagle_config`."""
        found = self.config.get("eagle_config")
        return found if isinstance(found, Mapping) else None

    @cached_property
    def nested_ids(self) -> list[int] | None:
        """Layer ids as SGLang reads them for capture; `None` where there are none that it can read."""
        return _ids((self.eagle_config or {}).get("eagle_aux_hidden_state_layer_ids"))

    @cached_property
    def top_level_ids(self) -> list[int] | None:
        """Layer ids at the place where vLLM and speculators keep them."""
        return _ids(self.config.get("eagle_aux_hidden_state_layer_ids"))

    @cached_property
    def block_ids(self) -> list[int] | None:
        """Layer ids of a DFlash draft: nested in `dflash_config`, else at the top (dflash_utils.py)."""
        nested = self.config.get("dflash_config")
        found = nested.get("target_layer_ids") if isinstance(nested, Mapping) else None
        return _ids(found if found is not None else self.config.get("target_layer_ids"))

    @cached_property
    def wants_final_states(self) -> bool:
        """`use_aux_hidden_state: false`: made for the target's final states, honoured from 0.5.8 on."""
        return (self.eagle_config or {}).get("use_aux_hidden_state") is False

    @cached_property
    def aux_count(self) -> int:
        """How many layers its class expects (models/llama_eagle3.py, models/kimi_k25_eagle3.py)."""
        if self.family == "eagle3_mla":
            return len(self.nested_ids or self.top_level_ids or [0, 0, 0])
        if version_key(self.release) < version_key("0.5.12"):
            return 3
        return integer(self.config.get("num_aux_hidden_states")) or len(self.nested_ids or [0, 0, 0])

    @cached_property
    def fc(self) -> Tensor | None:
        """The projection of the captured states."""
        return (self.tensors or {}).get("fc.weight")

    @cached_property
    def fc_in(self) -> int | None:
        """Input width of `fc`: by tensor, else by config."""
        if self.fc is not None and len(self.fc.shape) == 2:
            return self.fc.shape[1]
        if not self.is_eagle3 or self.target_hidden_size is None:
            return None
        return self.target_hidden_size * self.aux_count

    @cached_property
    def has_fc(self) -> bool:
        """Whether it was trained with `fc`. Without tensors: every EAGLE-3 draft that takes captured layers has one."""
        return self.fc is not None if self.tensors is not None else self.is_eagle3 and not self.wants_final_states


def sglang_name(name: str) -> str:
    """A tensor's name as `load_weights` matches it (sglang 0.5.23, models/llama_eagle3.py)."""
    short = name.removeprefix("model.").replace("midlayer.", "layers.0.")
    for old, new in LEGACY_NAMES.items():
        short = short.replace(old, new)
    return short


def mla_name(name: str) -> str:
    """A tensor's name as the MLA class matches it: it takes no `model.` before it (models/kimi_k25_eagle3.py)."""
    return f"layers.0.{name.removeprefix('midlayer.')}" if name.startswith("midlayer.") else name


def _ids(value: object) -> list[int] | None:
    if not isinstance(value, list) or not all(isinstance(one, int) and not isinstance(one, bool) for one in value):
        return None
    return list(value)
