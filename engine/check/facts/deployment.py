"""All facts of one deployment, each computed once, for every rule."""

import re
from collections.abc import Mapping
from functools import cached_property
from typing import Any

from engine.check.facts.draft import DraftFacts
from engine.check.facts.target import TargetFacts
from engine.check.flags.release import version_key
from engine.check.records import Deployment, Evidence, FlagValue, ServerArguments, UnresolvedValue

ALGORITHMS: Mapping[str, str] = {
    "EAGLE": "0.4.6", "EAGLE3": "0.4.6", "NEXTN": "0.4.6", "STANDALONE": "0.5.2", "NGRAM": "0.5.3", "DFLASH": "0.5.11",
    "FROZEN_KV_MTP": "0.5.12", "DSPARK": "0.5.16", "UNO": "0.5.20",
}  # fmt: skip
"""Name to the first release that has it (sglang, speculative/spec_info.py of each)."""

EAGLE_LIKE = frozenset({"EAGLE", "EAGLE3", "FROZEN_KV_MTP"})
SPECULATIVE_PREFIX = "speculative_"


class Facts:
    """A deployment, seen by the rules. Unknown values are `None`; a flag that hangs on an unset variable raises."""

    def __init__(self, deployment: Deployment) -> None:
        self.deployment = deployment
        self.arguments = deployment.arguments
        self.release = deployment.arguments.release if deployment.arguments is not None else "0.5.23"
        self.target = TargetFacts(deployment.target, self.release)
        self.draft = DraftFacts(deployment.draft, self.release)

    @property
    def is_sglang(self) -> bool:
        """Whether SGLang's rules hold; vLLM has a few of its own."""
        return self.deployment.launch is None or self.deployment.launch.framework == "sglang"

    def since(self, release: str) -> bool:
        """Whether the release is this one or a later one."""
        return version_key(self.release) >= version_key(release)

    def get(self, name: str, default: Any = None) -> Any:
        """A flag's value."""
        return self.arguments.get(name, default) if self.arguments is not None else default

    def given(self, name: str) -> FlagValue | None:
        """A flag, if somebody set it."""
        return self.arguments.given(name) if self.arguments is not None else None

    def environment(self, name: str) -> str | None:
        """An environment variable of the launch."""
        return self.deployment.launch.environment.get(name) if self.deployment.launch is not None else None

    def switched_on(self, name: str) -> bool:
        """Whether an environment variable is set to yes (sglang, environ.py, EnvBool)."""
        return (self.environment(name) or "").lower() in ("true", "1", "yes", "y")

    @cached_property
    def named_algorithm(self) -> str | None:
        """The algorithm as it was given."""
        value = self.get("speculative_algorithm")
        return value if isinstance(value, str) and value and value.upper() != "NONE" else None

    @cached_property
    def algorithm(self) -> str | None:
        """The algorithm that runs, aliases followed; `None` where there is none or its name is unknown."""
        name = self.named_algorithm
        if name is None:
            return None
        upper = name.upper()
        if self.get("enable_return_aux_hidden_states") and self.draft_path is None:
            return None  # states are returned, and nothing is drafted (sglang 0.5.23, validation_hook.py)
        if upper == "NEXTN":
            upper = "EAGLE"
        if upper == "EAGLE" and self.draft.family == "gemma4_assistant" and self.since("0.5.12"):
            return "FROZEN_KV_MTP"
        return upper if upper in ALGORITHMS else None

    @cached_property
    def draft_path(self) -> str | None:
        """The draft path as it was given."""
        value = self.get("speculative_draft_model_path")
        return value if isinstance(value, str) and value else None

    @cached_property
    def top_k(self) -> int | None:
        """`--speculative-eagle-topk`, also where it is left to the server."""
        return self._tree("speculative_eagle_topk", 1)

    @cached_property
    def num_steps(self) -> int | None:
        """`--speculative-num-steps`, also where it is left to the server."""
        return self._tree("speculative_num_steps", 0)

    @cached_property
    def num_draft_tokens(self) -> int | None:
        """`--speculative-num-draft-tokens`, also where it is left to the server."""
        return self._tree("speculative_num_draft_tokens", 2)

    def _tree(self, name: str, place: int) -> int | None:
        value = self.get(name)
        if value is not None:
            return value if isinstance(value, int) else None
        names = ("speculative_num_steps", "speculative_eagle_topk", "speculative_num_draft_tokens")
        if self.algorithm in EAGLE_LIKE | {"STANDALONE"} and all(self.get(one) is None for one in names):
            if self.get("speculative_adaptive"):
                return (None, 1, None)[place]
            wide = self.algorithm != "STANDALONE" and self.target.architecture in (
                "LlamaForCausalLM",
                "Grok1ForCausalLM",
            )
            return ((5, 4, 8) if wide else (3, 1, 4))[place]
        return None

    @cached_property
    def captures_final_states(self) -> bool:
        """Whether the draft gets the target's final states and not captured layers."""
        if self.algorithm == "EAGLE3":
            return self.draft.wants_final_states and self.since("0.5.8")
        return True

    @cached_property
    def captured(self) -> list[int] | None:
        """Layers whose input is handed over, as asked for: order and repetitions kept; `None` if not known, or none."""
        if self.algorithm != "EAGLE3" or self.captures_final_states or self.target.layers is None:
            return None
        ids = self.draft.nested_ids
        return self.target.capture_for(ids) if ids is not None else self.target.default_capture()

    @cached_property
    def handed_width(self) -> int | None:
        """Width of the states that reach the draft."""
        hidden = self.target.hidden_size
        if hidden is None or self.algorithm not in ("EAGLE", "EAGLE3"):
            return None
        if self.captures_final_states:
            return hidden
        if self.captured is None or self.target.highest_capture is None:
            return None
        reached = {layer for layer in self.captured if 0 <= layer <= self.target.highest_capture}
        return hidden * len(reached)

    @cached_property
    def tp_size(self) -> int:
        """Tensor parallel size."""
        value = self.get("tp_size", self.get("tensor_parallel_size", 1))
        return value if isinstance(value, int) and value > 0 else 1

    def flag(self, name: str, expected: str | None = None) -> Evidence:
        """A flag as evidence, with its place in the command."""
        found = self.arguments.flags.get(name) if self.arguments is not None else None
        spelled = (found.spelled if found is not None else None) or "--" + name.replace("_", "-")
        value = None if found is None or found.value is None else str(found.value)
        return Evidence(what=spelled, expected=expected, found=value, place=found.place if found is not None else None)

    def config_key(self, role: str, key: str, expected: object = None) -> Evidence:
        """A key of a model's config as evidence."""
        model = self.deployment.target if role == "target" else self.deployment.draft
        config = self.target.config if role == "target" else self.draft.config
        where = f"{model.folder}/config.json" if model is not None and model.folder else f"the {role}'s config.json"
        found: Any = config
        for part in key.split("."):
            found = found.get(part) if isinstance(found, Mapping) else None
        return Evidence(
            what=f"{where}: {key}", expected=None if expected is None else str(expected), found=_words(found)
        )

    def tensor(self, name: str, expected: object = None) -> Evidence:
        """A tensor of the draft as evidence, under the name in its file."""
        tensor = (self.draft.tensors or {}).get(name)
        folder = self.deployment.draft.folder if self.deployment.draft is not None else None
        what = f"{folder}/{tensor.file}: {tensor.name}" if tensor is not None else f"tensor {name}"
        found = " x ".join(map(str, tensor.shape)) if tensor is not None else "absent"
        return Evidence(what=what, expected=None if expected is None else str(expected), found=found)

    def speculative_flags(self) -> list[FlagValue]:
        """Speculative flags that somebody set, without the algorithm."""
        flags = self.arguments.flags.values() if self.arguments is not None else ()
        return [
            flag
            for flag in flags
            if flag.origin in ("command", "config")
            and flag.name.startswith(SPECULATIVE_PREFIX)
            and flag.name != "speculative_algorithm"
        ]


def known(arguments: ServerArguments | None, name: str) -> Any:
    """A flag's value, `None` also where it hangs on an unset variable."""
    try:
        return arguments.get(name) if arguments is not None else None
    except UnresolvedValue:
        return None


def _words(value: object) -> str | None:
    return None if value is None else re.sub(r"\s+", " ", str(value))[:200]
