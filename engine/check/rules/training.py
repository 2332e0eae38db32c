"""A training recipe (SpecForge's run.yaml, or a manifest) against target, draft and data."""

from collections.abc import Iterator, Mapping
from typing import Any

from engine.check.facts.deployment import Facts
from engine.check.records import Evidence, Fix
from engine.check.rules.registry import Detail, rule


@rule(
    "train-width-mismatch",
    "error",
    "Target and layers of the recipe do not give the draft's fc width",
    explanation="Hidden size times the number of captured layers must be the input width of the draft's fc.",
    source="SpecForge a6b6b02, algorithms/model_providers.py",
    framework="any",
)
def train_width_mismatch(facts: Facts) -> Iterator[Detail]:
    """By the recipe's layers, or by the states on disk."""
    recipe = facts.deployment.training
    if recipe is None or facts.draft.fc_in is None or facts.target.hidden_size is None:
        return
    model = _section(recipe, "model")
    ids = model.get("aux_hidden_state_layer_ids") or recipe.get("trained_layer_ids") or facts.draft.nested_ids
    stored, hidden = recipe.get("hidden_states_width"), recipe.get("trained_hidden_size", facts.target.hidden_size)
    width = stored if isinstance(stored, int) else hidden * len(ids or [0, 0, 0])
    if width != facts.draft.fc_in:
        evidence = (
            Evidence(what="recipe: width of the states", expected=str(facts.draft.fc_in), found=str(width)),
            facts.tensor("fc.weight"),
        )
        yield Detail(
            f"The states are {width} wide; the draft's fc takes {facts.draft.fc_in}.",
            evidence,
            Fix(text="make the draft config for this target: alula train config"),
        )


@rule(
    "train-target-differs",
    "error",
    "The recipe trains for another target than the one served",
    explanation="A draft learns the states of one checkpoint; another one, a fine-tune included, has others.",
    source="SpecForge a6b6b02, config/schema.py target_model_path",
    framework="any",
)
def train_target_differs(facts: Facts) -> Iterator[Detail]:
    """Paths by their last part."""
    recipe, target = facts.deployment.training, facts.deployment.target
    named = _section(recipe or {}, "model").get("target_model_path") or (recipe or {}).get("target_model_path")
    if isinstance(named, str) and target is not None and _last(named) != _last(target.reference):
        evidence = Evidence(what="recipe: target_model_path", expected=target.reference, found=named)
        yield Detail(
            f"The recipe names {named}, the server {target.reference}.",
            (evidence,),
            Fix(text="train for the target that is served"),
        )


@rule(
    "train-vocab-map-differs",
    "error",
    "The recipe's vocabulary map is not the draft's",
    explanation="Head rows mean the tokens of the map that they were trained with.",
    source="SpecForge a6b6b02, config/schema.py vocab_mapping_path",
    framework="any",
)
def train_vocab_map_differs(facts: Facts) -> Iterator[Detail]:
    """By the draft vocabulary's size."""
    recipe = facts.deployment.training or {}
    size = recipe.get("draft_vocab_size", _section(recipe, "model").get("draft_vocab_size"))
    if isinstance(size, int) and facts.draft.draft_vocab_size is not None and size != facts.draft.draft_vocab_size:
        evidence = (
            Evidence(what="recipe: draft_vocab_size", expected=str(facts.draft.draft_vocab_size), found=str(size)),
        )
        yield Detail(
            f"The recipe's map has {size} tokens, the draft {facts.draft.draft_vocab_size}.",
            evidence,
            Fix(text="use the map saved with the draft"),
        )


@rule(
    "train-template-mismatch",
    "warning",
    "The recipe's chat template is not the target's",
    explanation="With a wrong template no assistant span is found: the loss mask is zero, and the draft trains on nothing, silently.",
    source="SpecForge a6b6b02, data/parse.py and data/template.py",
    framework="any",
)
def train_template_mismatch(facts: Facts) -> Iterator[Detail]:
    """The template's family against the target's model type."""
    recipe = facts.deployment.training or {}
    template = _section(recipe, "data").get("chat_template") or recipe.get("chat_template")
    kind = str(
        facts.target.config.get("model_type") or (facts.deployment.target.config or {}).get("model_type")
        if facts.deployment.target
        else ""
    )
    families = {
        "llama": ("llama",),
        "qwen": ("qwen",),
        "deepseek": ("deepseek", "kimi"),
        "kimi": ("kimi",),
        "gpt_oss": ("gpt-oss",),
        "glm": ("glm",),
        "gemma": ("gemma",),
        "phi": ("phi",),
    }
    wanted = next((names for start, names in families.items() if kind.startswith(start)), None)
    if isinstance(template, str) and wanted is not None and template != "custom" and not template.startswith(wanted):
        evidence = (Evidence(what="recipe: data.chat_template", expected=" or ".join(wanted), found=template),)
        yield Detail(f"{template} for a target of type {kind}.", evidence, Fix(text="choose the target's own template"))


@rule(
    "train-length-truncates",
    "warning",
    "The maximum length cuts many samples",
    explanation="More than a tenth of the samples are longer: the draft never sees how they end.",
    source="SpecForge a6b6b02, config/schema.py max_length",
    framework="any",
)
def train_length_truncates(facts: Facts) -> Iterator[Detail]:
    """By the data's manifest."""
    recipe = facts.deployment.training or {}
    share = recipe.get("share_longer_than_max_length")
    length = _section(recipe, "data").get("max_length", recipe.get("max_length"))
    if isinstance(share, int | float) and share > 0.1:
        evidence = (Evidence(what="recipe: max_length", found=str(length)),)
        yield Detail(
            f"{share * 100:.0f} % of the samples are longer than {length}.", evidence, Fix(text="raise max_length")
        )


@rule(
    "train-data-not-regenerated",
    "warning",
    "The answers did not come from this target",
    explanation="A draft learns to foresee the target's own words; answers of people or other models teach it others.",
    source="EAGLE-3 paper; SpecForge docs/basic_usage/data_preparation.md",
    framework="any",
)
def train_data_not_regenerated(facts: Facts) -> Iterator[Detail]:
    """By the manifest beside the data."""
    recipe, target = facts.deployment.training or {}, facts.deployment.target
    model = recipe.get("answers_model")
    if isinstance(model, str) and target is not None and _last(model) != _last(target.reference):
        evidence = (Evidence(what="data manifest: model", expected=target.reference, found=model),)
        yield Detail(f"The answers are those of {model}.", evidence, Fix(text="regenerate them: alula regen start"))


def _section(recipe: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = recipe.get(name)
    return found if isinstance(found, Mapping) else {}


def _last(path: str) -> str:
    return path.rstrip("/").rsplit("/", 1)[-1].lower()
