"""Model classes of SGLang: which exist in a release, which can capture layers for EAGLE-3, and of what family."""

import functools
from collections.abc import Mapping
from importlib import resources
from typing import Literal

import msgspec

from engine.check.flags.release import version_key

DraftFamily = Literal[
    "eagle3_llama", "eagle3_mla", "eagle3_foreign", "eagle3_as_llama", "eagle", "mtp", "dflash", "dspark",
    "gemma4_assistant", "causal",
]  # fmt: skip
EAGLE3_FAMILIES: frozenset[DraftFamily] = frozenset({"eagle3_llama", "eagle3_mla", "eagle3_foreign", "eagle3_as_llama"})

INHERITED_WITHOUT_CAPTURE = frozenset({"Glm4vForConditionalGeneration", "Glm4vMoeForConditionalGeneration"})
"""They inherit the method from Qwen2.5-VL, and their own language model never looks at it (sglang 0.5.23)."""

OFFSET_ONLY_AFTER_ONE = frozenset(
    {"DeepseekV2ForCausalLM", "DeepseekV3ForCausalLM", "DeepseekV32ForCausalLM", "GlmMoeDsaForCausalLM"}
    | {"MistralLarge3ForCausalLM", "KimiK25ForConditionalGeneration", "Glm4MoeLiteForCausalLM"}
)
"""From 0.5.13 these add 1 to the ids only where the first one is 1 (sglang 0.5.23, models/deepseek_v2.py)."""

GPT_OSS = "GptOssForCausalLM"
DEFAULT_PLUS_ONE = frozenset({"MiniMaxM3SparseForConditionalGeneration"})
"""These add 1 to the default layers as well (sglang 0.5.23, models/minimax_m3_vl.py)."""

BUNDLED_MTP = frozenset(
    {"DeepseekV32ForCausalLM", "DeepseekV3ForCausalLM", "DeepseekV4ForCausalLM", "Glm4MoeForCausalLM"}
    | {"Glm4MoeLiteForCausalLM", "GlmMoeDsaForCausalLM", "BailingMoeForCausalLM", "BailingMoeV2ForCausalLM"}
    | {"BailingMoeV2_5ForCausalLM", "MistralLarge3ForCausalLM", "PixtralForConditionalGeneration", "HYV3ForCausalLM"}
    | {"HYV4ForCausalLM", "Qwen4ExpForConditionalGeneration"}
)
"""The draft path defaults to the target's own path (sglang 0.5.23, arg_groups/speculative_hook.py)."""

RENAMED_MTP = frozenset(
    {"MiMoForCausalLM", "MiMoV2ForCausalLM", "MiMoV2FlashForCausalLM", "Step3p5ForCausalLM", "Qwen3NextForCausalLM"}
    | {
        "Step3p7ForConditionalGeneration",
        "InklingForConditionalGeneration",
        "BailingMoeV3ForCausalLM",
        "ExaoneMoEForCausalLM",
    }
    | {"Qwen3_5ForConditionalGeneration", "Qwen3_5MoeForConditionalGeneration", "Qwen3_5ForCausalLM"}
    | {"Qwen3_5MoeForCausalLM", "LongcatFlashForCausalLM", "NemotronHForCausalLM"}
    | {"ExaoneMoeForCausalLM", "Ernie4_5_MoeForCausalLM", "Glm5NextForConditionalGeneration"}
    | {
        "GlmOcrForConditionalGeneration",
        "GigaChat35ForCausalLM",
        "Qwen3MoeForCausalLM",
        "InternS2PreviewForConditionalGeneration",
    }
)
"""A draft path that is the target's loads the MTP layers of the same checkpoint (configs/model_config.py)."""


class ModelClass(msgspec.Struct, frozen=True):
    """A registered class."""

    since: str
    eagle3_since: str | None = None


@functools.cache
def model_classes() -> Mapping[str, ModelClass]:
    """Every class that the releases with a flag table register, made by `engine.check.facts.extract`."""
    text = resources.files("engine.check.facts").joinpath("data/model_classes.json").read_bytes()
    return msgspec.json.decode(text, type=dict[str, ModelClass])


def captures_layers(name: str, release: str) -> bool | None:
    """Whether a target class hands out layers under EAGLE3; `None` where the class is not known at all."""
    found = model_classes().get(name)
    if found is None:
        return None
    if name in INHERITED_WITHOUT_CAPTURE or found.eagle3_since is None:
        return False
    return version_key(found.eagle3_since) <= version_key(release)


def family_of(architecture: str | None) -> DraftFamily | None:
    """Family of a draft by its `architectures` entry."""
    if architecture is None:
        return None
    if architecture == "LlamaForCausalLMEagle3":
        return "eagle3_llama"
    if architecture == "Eagle3DeepseekV2ForCausalLM":
        return "eagle3_mla"
    lowered = architecture.lower()
    if "eagle3" in lowered:
        return "eagle3_foreign"
    if lowered.endswith("eagle") or lowered.startswith("eagle"):
        return "eagle"
    if "dflash" in lowered:
        return "dflash"
    if "dspark" in lowered:
        return "dspark"
    if architecture in ("Gemma4AssistantForCausalLM", "Gemma4UnifiedAssistantForCausalLM"):
        return "gemma4_assistant"
    if architecture.endswith(("NextN", "MTP")):
        return "mtp"
    return "causal"
