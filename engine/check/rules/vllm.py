"""A first few rules for vLLM's --speculative-config."""

from collections.abc import Iterator, Mapping
from typing import Any

from engine.check.facts.deployment import Facts
from engine.check.records import Evidence, Fix
from engine.check.rules.registry import Detail, rule

NAMED_IN_PATH = ("eagle-", "eagle3", "dflash", "dspark")


@rule(
    "vllm-method-by-path",
    "warning",
    "vLLM guesses the method from the path's name",
    explanation="Without a method vLLM looks for eagle-, eagle3, dflash, dspark in the path, in this order: a folder such as "
    "eagle-heads/qwen3-eagle3 becomes eagle, a folder with none of them an independent draft model.",
    source="vllm 0.33.0, config/speculative.py",
    framework="vllm",
)
def vllm_method_by_path(facts: Facts) -> Iterator[Detail]:
    """No method, and the guess is not what the draft is."""
    config = _config(facts)
    path = str(config.get("model") or "").lower()
    if not config or config.get("method") or not path:
        return
    guess = next((word.rstrip("-") for word in NAMED_IN_PATH if word in path), "draft_model")
    right = "eagle3" if facts.draft.is_eagle3 else None
    if guess == "draft_model" or (right is not None and guess != right):
        evidence = (
            Evidence(what="--speculative-config: method", expected=right, found="absent"),
            Evidence(what="--speculative-config: model", found=path),
        )
        yield Detail(f"The path makes it {guess}.", evidence, Fix(text=f'add "method": "{right or "eagle3"}"'))


@rule(
    "vllm-widths-differ",
    "error",
    "The draft was made for a target of other dimensions",
    explanation="Hidden size and vocabulary of the draft's target must be those of the target served.",
    source="vllm 0.33.0, models/llama_eagle3.py",
    framework="vllm",
)
def vllm_widths_differ(facts: Facts) -> Iterator[Detail]:
    """Hidden size and vocabulary."""
    if not facts.draft.is_eagle3:
        return
    pairs = (
        ("hidden_size", facts.draft.target_hidden_size, facts.target.hidden_size),
        ("vocab_size", facts.draft.vocab_size, facts.target.vocab_size),
    )
    for key, draft, target in pairs:
        if draft is not None and target is not None and draft != target:
            yield Detail(
                f"{key}: the draft says {draft}, the target {target}.",
                (facts.config_key("draft", key), facts.config_key("target", key)),
            )


@rule(
    "engine-offset",
    "warning",
    "The same layer ids mean other layers in SGLang and vLLM",
    explanation="SGLang adds 1 to the ids of a draft's config, vLLM does not: a draft moved between them is shifted by one layer.",
    source="vllm pull 43671; sglang 0.5.23, set_eagle3_layers_to_capture",
    framework="any",
)
def engine_offset(facts: Facts) -> Iterator[Detail]:
    """The usual layers, written in the other engine's way."""
    ids = facts.draft.nested_ids
    if facts.is_sglang:
        yield from _written_for_vllm(facts)
        return
    if (
        ids is not None
        and facts.target.layers is not None
        and ids == [1, facts.target.layers // 2 - 1, facts.target.layers - 4]
    ):
        message = f"{ids} is SGLang's way to write {[one + 1 for one in ids]}; vLLM takes the ids as they stand."
        yield Detail(
            message,
            (facts.config_key("draft", "eagle_config"),),
            Fix(text=f"write {[one + 1 for one in ids]} for vLLM"),
        )


def _config(facts: Facts) -> Mapping[str, Any]:
    found = facts.get("speculative_config")
    return found if isinstance(found, Mapping) else {}


def _written_for_vllm(facts: Facts) -> Iterator[Detail]:
    ids, layers = facts.draft.nested_ids, facts.target.layers
    if ids is None or layers is None or facts.captured is None or ids != [2, layers // 2, layers - 3]:
        return
    if facts.captured != ids:
        yield Detail(
            f"{ids} is vLLM's way to write the usual layers; SGLang takes the states before layers {facts.captured}.",
            (facts.config_key("draft", "eagle_config"),),
            Fix(text=f"if the draft was trained for vLLM's reading, write {[one - 1 for one in ids]}"),
        )
