"""Which layers of the target reach the draft."""

from collections.abc import Iterator

from engine.check.facts.classes import GPT_OSS, OFFSET_ONLY_AFTER_ONE
from engine.check.facts.deployment import Facts
from engine.check.records import Evidence, Fix
from engine.check.rules.registry import Detail, rule

IDS = "eagle_config.eagle_aux_hidden_state_layer_ids"


@rule(
    "capture-layer-out-of-range",
    "error",
    "A captured layer lies outside the target",
    explanation="SGLang takes the states before layer i while it runs through the layers. An index past the last layer never "
    "comes up: fewer states are handed over and fc fails, or the start does.",
    source="sglang 0.5.23, models/llama.py and others: `if i in self.layers_to_capture`; gpt_oss.py from 0.5.20",
)
def capture_layer_out_of_range(facts: Facts) -> Iterator[Detail]:
    """Counted as the class counts."""
    ids, highest = facts.draft.nested_ids, facts.target.highest_capture
    if facts.algorithm == "DFLASH":
        yield from _block_ids_outside(facts)
    if facts.captured is None or ids is None or highest is None:
        return
    bad = [(one, layer) for one, layer in zip(ids, facts.captured, strict=True) if not 0 <= layer <= highest]
    if bad:
        words = ", ".join(f"{one} (states before layer {layer})" for one, layer in bad)
        yield Detail(
            f"The target has {facts.target.layers} layers; {words} cannot be taken. Those states are missing from what the "
            "draft gets.",
            (facts.config_key("draft", IDS), facts.config_key("target", "num_hidden_layers")),
            Fix(text="correct the ids in the draft's config to those it was trained on"),
        )


@rule(
    "capture-layer-duplicate",
    "error",
    "A layer is captured twice",
    explanation="Layers are a set: a repeated id is captured once, the concatenation gets narrower and fc fails.",
    source="sglang 0.5.23, membership test in each model's layer loop",
)
def capture_layer_duplicate(facts: Facts) -> Iterator[Detail]:
    """The same layer in two places."""
    ids = facts.draft.nested_ids
    if facts.algorithm == "EAGLE3" and ids is not None and not facts.captures_final_states and len(set(ids)) < len(ids):
        yield Detail(
            f"{ids} names {len(ids)} layers, {len(set(ids))} of them different: only those are handed over.",
            (facts.config_key("draft", IDS),),
            Fix(text="name each layer once"),
        )
    elif ids is None and facts.captured is not None and len(set(facts.captured)) < len(facts.captured):
        yield Detail(
            f"The default layers of a target with {facts.target.layers} layers are {facts.captured}: not three different ones.",
            (facts.config_key("target", "num_hidden_layers"),),
            Fix(text="name the layers in the draft's config"),
        )


@rule(
    "capture-ids-order",
    "error",
    "The layer ids are not in rising order",
    explanation="States are concatenated in the order of the layers, whatever the order of the ids. A draft trained on "
    "another order gets its inputs permuted, silently.",
    source="sglang 0.5.23, membership test in each model's layer loop",
)
def capture_ids_order(facts: Facts) -> Iterator[Detail]:
    """The order has no effect."""
    ids = facts.draft.nested_ids
    if facts.algorithm == "EAGLE3" and ids is not None and ids != sorted(ids) and not facts.captures_final_states:
        yield Detail(
            f"The ids are {ids}; the states arrive in the order {sorted(ids)}. fc gets them permuted.",
            (facts.config_key("draft", IDS, sorted(ids)),),
            Fix(text="sort the ids, and permute fc's column blocks alike or train again"),
        )


@rule(
    "capture-layer-count-mismatch",
    "error",
    "Layer ids, their stated number and fc's width disagree",
    explanation="The number of ids, num_aux_hidden_states and the width of fc must say the same. Up to 0.5.11 the draft class "
    "knows exactly three.",
    source="sglang 0.5.23, models/llama_eagle3.py; three only before 0.5.12",
)
def capture_layer_count_mismatch(facts: Facts) -> Iterator[Detail]:
    """Any two of them differ."""
    draft = facts.draft
    if facts.algorithm != "EAGLE3" or not draft.is_eagle3 or facts.captures_final_states:
        return
    evidence = [facts.config_key("draft", IDS), facts.config_key("draft", "num_aux_hidden_states")]
    stated = draft.config.get("num_aux_hidden_states")
    counts = {len(draft.nested_ids)} if draft.nested_ids is not None else set()
    if isinstance(stated, int) and draft.family != "eagle3_mla":
        counts.add(stated)
    if (
        draft.fc is not None
        and draft.target_hidden_size
        and draft.fc_in
        and draft.fc_in % draft.target_hidden_size == 0
    ):
        counts.add(draft.fc_in // draft.target_hidden_size)
        evidence.append(facts.tensor("fc.weight"))
        if draft.nested_ids is None and not isinstance(stated, int):
            counts.add(3)  # the default capture
    if len(counts) > 1:
        yield Detail(
            f"They say {' and '.join(map(str, sorted(counts)))} layers.", tuple(evidence), Fix(text="make them agree")
        )
    elif counts and not facts.since("0.5.12") and counts != {3}:
        yield Detail(
            f"SGLang {facts.release} knows exactly three captured layers; this draft has {counts.pop()}.",
            tuple(evidence),
            Fix(text="use SGLang 0.5.12 or later"),
        )


@rule(
    "capture-layers-differ-from-training",
    "error",
    "The captured layers are not those that the draft was trained on",
    explanation="The draft learned from the outputs of certain layers. Served with others it drafts from states it has never "
    "seen: accept length falls, silently.",
    source="training recipe, or manifest beside the draft; sglang 0.5.23, set_eagle3_layers_to_capture of each class",
)
def capture_layers_differ_from_training(facts: Facts) -> Iterator[Detail]:
    """Compared as outputs of layers, the convention of each side counted."""
    trained = _trained_outputs(facts)
    if trained is None or facts.captured is None:
        return
    served = sorted(layer - 1 for layer in set(facts.captured))
    if served != sorted(trained):
        yield Detail(
            f"Trained on the outputs of layers {sorted(trained)}; the server hands over the outputs of layers {served}.",
            (
                Evidence(what="training: aux_hidden_state_layer_ids", found=str(trained)),
                facts.config_key("draft", IDS),
            ),
            Fix(text=f"set {IDS} so that the outputs of {sorted(trained)} are taken"),
        )


@rule(
    "capture-offset-by-release",
    "warning",
    "The same ids mean other layers in another release",
    explanation="Classes of the DeepSeek family add 1 to the ids always up to 0.5.12, and from 0.5.13 on only where the first "
    "id is 1; gpt-oss takes ids that reach the last layer as they stand from 0.5.20 on.",
    source="sglang pulls 25454 and 32334",
)
def capture_offset_by_release(facts: Facts) -> Iterator[Detail]:
    """Where the boundary matters for these ids."""
    ids, target = facts.draft.nested_ids, facts.target
    if facts.algorithm != "EAGLE3" or ids is None or facts.captures_final_states or target.layers is None:
        return
    known = facts.arguments is not None and facts.arguments.release_known
    if (
        target.architecture in OFFSET_ONLY_AFTER_ONE
        and ids
        and ids[0] != 1
        and (not facts.since("0.5.13") or not known)
    ):
        boundary, before = "0.5.13", target.capture_for(ids, "0.5.12")
    elif target.architecture == GPT_OSS and max(ids, default=0) == target.layers and not facts.since("0.5.20"):
        boundary, before = "0.5.20", target.capture_for(ids, "0.5.19")
    else:
        return
    yield Detail(
        f"Before {boundary} {ids} takes the states before layers {before}, from {boundary} on those before "
        f"{target.capture_for(ids, boundary)}. Another release, another draft.",
        (facts.config_key("draft", IDS), facts.config_key("target", "architectures")),
        Fix(text=f"name the release (--sglang-version); serve with {boundary} or later, or shift the ids"),
    )


@rule(
    "aux-ids-in-wrong-place",
    "error",
    "The layer ids stand where SGLang does not read them",
    explanation="SGLang reads eagle_config.eagle_aux_hidden_state_layer_ids. At the top level, where vLLM and speculators keep "
    "them, they are not read for capture: the target's default layers are taken.",
    source="sglang 0.5.23, model_executor/model_runner_components/spec_aux_hidden_state.py",
)
def aux_ids_in_wrong_place(facts: Facts) -> Iterator[Detail]:
    """At the top level only."""
    ids = facts.draft.top_level_ids
    if facts.algorithm != "EAGLE3" or ids is None or facts.draft.nested_ids is not None or facts.captures_final_states:
        return
    default = facts.target.default_capture()
    yield Detail(
        f"eagle_aux_hidden_state_layer_ids {ids} at the top level is not read; the default "
        f"{default if default is not None else 'layers'} is captured. In vLLM these ids mean the states before those layers, "
        "so SGLang needs each of them less one.",
        (facts.config_key("draft", "eagle_aux_hidden_state_layer_ids"), facts.config_key("draft", "eagle_config")),
        Fix(text=f"nest them under eagle_config, as {[one - 1 for one in ids]}"),
    )


@rule(
    "default-capture-shadow",
    "warning",
    "The draft's layer ids cannot be read; the default is taken",
    explanation="All errors while reading eagle_config are swallowed: ids that are no list of numbers mean the default layers.",
    source="sglang 0.5.23, model_executor/model_runner_components/spec_aux_hidden_state.py",
)
def default_capture_shadow(facts: Facts) -> Iterator[Detail]:
    """Present but unreadable."""
    if facts.algorithm != "EAGLE3" or facts.captures_final_states:
        return
    nested = facts.draft.config.get("eagle_config")
    raw = nested.get("eagle_aux_hidden_state_layer_ids") if isinstance(nested, dict) else None
    without_ids = isinstance(nested, dict) and raw is None and facts.draft.top_level_ids is None
    unreadable = (raw is not None and facts.draft.nested_ids is None) or (
        nested is not None and not isinstance(nested, dict)
    )
    if without_ids and facts.draft.is_eagle3:
        yield Detail(
            "eagle_config is there, but names no layers: the target's default is captured, and nothing is logged.",
            (facts.config_key("draft", IDS),),
            Fix(text="write the layers that the draft was trained on into eagle_config"),
        )
    if unreadable:
        yield Detail(
            "They are not a list of whole numbers: SGLang swallows the error and captures the default layers.",
            (facts.config_key("draft", "eagle_config"),),
            Fix(text="write the ids as a list of numbers"),
        )


@rule(
    "capture-layers-default",
    "info",
    "The draft names no layers: the target's default is captured",
    explanation="Mostly [2, n//2, n-3], the states before these layers. A draft trained on others needs its ids in eagle_config.",
    source="sglang 0.5.23, set_eagle3_layers_to_capture",
)
def capture_layers_default(facts: Facts) -> Iterator[Detail]:
    """Names the layers and the width."""
    if facts.captured is None or facts.draft.nested_ids is not None or not facts.draft.is_eagle3:
        return
    yield Detail(
        f"States before layers {facts.captured} of {facts.target.layers} are handed over: {facts.handed_width} wide.",
        (facts.config_key("draft", "eagle_config"),),
    )


def _trained_outputs(facts: Facts) -> list[int] | None:
    """Layers whose outputs the draft was trained on, by the recipe or the manifest beside it; all name outputs."""
    told = (facts.deployment.training or {}).get("trained_layer_ids")
    if isinstance(told, list):
        return told
    training = (facts.deployment.draft.training if facts.deployment.draft is not None else None) or {}
    model = training.get("model")
    places = (training, model if isinstance(model, dict) else {}, training.get("eagle_config") or {})
    for place in places:
        for key in ("aux_hidden_state_layer_ids", "eagle_aux_hidden_state_layer_ids", "capture_layers"):
            found = place.get(key) if isinstance(place, dict) else None
            if isinstance(found, list) and found and all(isinstance(one, int) for one in found):
                return found
    return None


def _block_ids_outside(facts: Facts) -> Iterator[Detail]:
    """A DFlash draft's ids are outputs of layers, and checked at start (speculative/dflash_utils.py)."""
    ids, layers = facts.draft.block_ids, facts.target.layers
    bad = [one for one in ids or () if layers is not None and not 0 <= one < layers]
    if bad:
        yield Detail(
            f"The target has {layers} layers; {', '.join(map(str, bad))} cannot be taken. The start fails.",
            (
                facts.config_key("draft", "dflash_config.target_layer_ids"),
                facts.config_key("target", "num_hidden_layers"),
            ),
            Fix(text="use a draft that was trained for this target"),
        )
