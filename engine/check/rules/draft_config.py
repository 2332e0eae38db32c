"""Keys of the draft's config that crash the start, or are read by one engine and not by the other."""

import re
from collections.abc import Iterator

from engine.check.facts.classes import model_classes
from engine.check.facts.deployment import Facts
from engine.check.facts.target import integer
from engine.check.flags.release import version_key
from engine.check.records import Evidence, Fix
from engine.check.rules.registry import Detail, rule


@rule(
    "target-hidden-size-null",
    "error",
    "target_hidden_size is null",
    explanation="The Llama class multiplies it: null is a TypeError at start. The MLA class accepts it.",
    source="sglang 0.5.23, models/llama_eagle3.py",
)
def target_hidden_size_null(facts: Facts) -> Iterator[Detail]:
    """The key is there, and null."""
    config = facts.draft.config
    null = "target_hidden_size" in config and config["target_hidden_size"] is None
    if facts.algorithm == "EAGLE3" and facts.draft.family == "eagle3_llama" and null:
        yield Detail(
            "target_hidden_size: null ends the start in a TypeError.",
            (facts.config_key("draft", "target_hidden_size", facts.target.hidden_size),),
            Fix(text="delete the key from the draft's config"),
        )


@rule(
    "draft-vocab-size-absent",
    "error",
    "draft_vocab_size is absent",
    explanation="The Llama class reads it without a default: absent is an AttributeError at start, null shares the target's head "
    "(from 0.5.2 on). The MLA class takes both.",
    source="sglang 0.5.23, models/llama_eagle3.py; run on transformers 4.57.1 and 5.19.0",
)
def draft_vocab_size_absent(facts: Facts) -> Iterator[Detail]:
    """No such key."""
    draft = facts.draft
    if facts.algorithm != "EAGLE3" or draft.family != "eagle3_llama" or not draft.config:
        return
    if "draft_vocab_size" not in draft.config:
        head = (draft.tensors or {}).get("lm_head.weight")
        value = head.shape[0] if head is not None else "null"
        yield Detail(
            "The draft's config has no draft_vocab_size: the start ends in an AttributeError.",
            (facts.config_key("draft", "draft_vocab_size", value),),
            Fix(text=f'add "draft_vocab_size": {value} to the draft\'s config'),
        )
    elif draft.config["draft_vocab_size"] is None and not facts.since("0.5.2"):
        yield Detail(
            f"draft_vocab_size: null shares the target's head from 0.5.2 on; this is {facts.release}.",
            (facts.config_key("draft", "draft_vocab_size"),),
            Fix(text="use SGLang 0.5.2 or later"),
        )


@rule(
    "draft-architecture-unknown",
    "error",
    "SGLang does not know the draft's architecture",
    explanation="Two EAGLE-3 classes exist: LlamaForCausalLMEagle3 and Eagle3DeepseekV2ForCausalLM. Names of vLLM or speculators "
    "fall back to the Transformers backend and fail; LlamaForCausalLM with EAGLE-3 tensors loads the ordinary Llama class.",
    source="sglang 0.5.23, models/registry.py; sglang issues 8229 and 6768",
)
def draft_architecture_unknown(facts: Facts) -> Iterator[Detail]:
    """A name that is not registered in this release."""
    draft = facts.draft
    if facts.algorithm in (None, "NGRAM", "UNO", "STANDALONE") or draft.architecture is None:
        return
    right = "Eagle3DeepseekV2ForCausalLM" if draft.config.get("q_lora_rank") else "LlamaForCausalLMEagle3"
    known = model_classes().get(draft.architecture)
    evidence = (facts.config_key("draft", "architectures", right if draft.is_eagle3 else None),)
    if draft.family == "eagle3_foreign":
        speculators = "speculators_model_type" in draft.config or draft.architecture == "Eagle3Speculator"
        how = "convert it" if speculators else f'write "{right}"'
        yield Detail(
            f"{draft.architecture} is a name of vLLM or speculators; SGLang cannot load it.", evidence, Fix(text=how)
        )
    elif draft.family == "eagle3_as_llama":
        yield Detail(
            f"{draft.architecture} loads an ordinary model class; the tensors are those of an EAGLE-3 draft.",
            evidence,
            Fix(text=f'write "{right}" into architectures, or use a checkpoint converted for SGLang'),
        )
    elif known is None and draft.family in ("eagle", "mtp") and not facts.environment("SGLANG_EXTERNAL_MODEL_PACKAGE"):
        yield Detail(f"{draft.architecture} is no class of SGLang up to 0.5.23: the start fails.", evidence)
    elif known is not None and draft.is_eagle3 and version_key(known.since) > version_key(facts.release):
        message = f"{draft.architecture} came with SGLang {known.since}; this is {facts.release}."
        yield Detail(message, evidence, Fix(text=f"use SGLang {known.since} or later"))


@rule(
    "num-layers-unsupported",
    "error",
    "The draft has more layers than its class takes",
    explanation="The MLA class takes exactly one layer; the Llama class one up to 0.5.11, any number later.",
    source="sglang 0.5.11 and 0.5.23, models/llama_eagle3.py, kimi_k25_eagle3.py",
)
def num_layers_unsupported(facts: Facts) -> Iterator[Detail]:
    """By class and release."""
    layers = integer(facts.draft.config.get("num_hidden_layers"))
    if facts.algorithm != "EAGLE3" or layers in (None, 1):
        return
    mla, old = facts.draft.family == "eagle3_mla", facts.draft.family == "eagle3_llama" and not facts.since("0.5.12")
    if mla or old:
        why = "the MLA class takes one" if mla else f"SGLang {facts.release} takes one (any number from 0.5.12 on)"
        yield Detail(
            f"The draft has {layers} layers; {why}. The start fails.",
            (facts.config_key("draft", "num_hidden_layers", 1),),
        )


@rule(
    "mla-draft-quantised",
    "error",
    "The MLA draft class cannot load this draft",
    explanation="Eagle3DeepseekV2ForCausalLM needs q_lora_rank, and float weights for kv_b_proj.",
    source="sglang 0.5.23, models/kimi_k25_eagle3.py",
)
def mla_draft_quantised(facts: Facts) -> Iterator[Detail]:
    """Quantised kv_b_proj, or no q_lora_rank."""
    draft = facts.draft
    if facts.algorithm != "EAGLE3" or draft.family != "eagle3_mla":
        return
    if draft.config and not integer(draft.config.get("q_lora_rank")):
        yield Detail(
            "q_lora_rank is absent or null: the start fails.", (facts.config_key("draft", "q_lora_rank", "a number"),)
        )
    inherited = facts.get("quantization")
    plain = facts.deployment.draft is not None and facts.deployment.draft.quantization_config is None
    own = facts.get("speculative_draft_model_quantization")
    if plain and own is None and isinstance(inherited, str) and inherited not in ("modelopt_fp4", "unquant"):
        yield Detail(
            f"--quantization {inherited} also holds for the draft, and kv_b_proj must be in plain numbers: "
            "NotImplementedError at start.",
            (facts.flag("quantization"), facts.flag("speculative_draft_model_quantization", "unquant")),
            Fix(text="keep the draft as it is", set_flags={"--speculative-draft-model-quantization": "unquant"}),
        )
    for name, tensor in (draft.tensors or {}).items():
        if name.endswith("kv_b_proj.weight") and tensor.dtype not in ("BF16", "F16", "F32"):
            yield Detail(
                f"{tensor.name} is {tensor.dtype}: NotImplementedError at start.", (facts.tensor(name, "BF16"),)
            )


@rule(
    "eagle31-on-old-release",
    "error",
    "This release ignores a part of the draft",
    explanation="fc_norm and norm_output are read from 0.5.12 on, norm_before_fc from 0.5.20, use_aux_hidden_state: false from "
    "0.5.8. Older releases drop them silently, and the draft runs otherwise than it was trained.",
    source="sglang wheels 0.5.7 to 0.5.20, models/llama_eagle3.py",
)
def eagle31_on_old_release(facts: Facts) -> Iterator[Detail]:
    """A key or tensor that came later."""
    draft = facts.draft
    if facts.algorithm != "EAGLE3" or not draft.is_eagle3:
        return
    keys = [
        ("fc_norm", "0.5.12", bool(draft.config.get("fc_norm") or draft.config.get("use_aux_norm"))
         or any(name.startswith("fc_norm.") for name in draft.tensors or ())),
        ("norm_output", "0.5.12", bool(draft.config.get("norm_output"))),
        ("norm_before_fc", "0.5.20", bool(draft.config.get("norm_before_fc") or (draft.eagle_config or {}).get("norm_before_fc"))),
        ("use_aux_hidden_state", "0.5.8", draft.wants_final_states),
    ]  # fmt: skip
    for key, first, used in keys:
        if used and not facts.since(first):
            where = f"eagle_config.{key}" if key == "use_aux_hidden_state" else key
            message = f"{key} is read from SGLang {first} on; {facts.release} ignores it silently."
            yield Detail(message, (facts.config_key("draft", where),), Fix(text=f"use SGLang {first} or later"))


@rule(
    "norm-before-residual-unread",
    "warning",
    "SGLang does not read norm_before_residual",
    explanation="vLLM reads it, and speculators trains with true. A draft that was trained so runs otherwise here, silently.",
    source="sglang 0.5.23, no occurrence in the source; vllm 0.33.0",
)
def norm_before_residual_unread(facts: Facts) -> Iterator[Detail]:
    """True, and unread."""
    config = facts.draft.config
    if facts.algorithm == "EAGLE3" and facts.draft.is_eagle3 and config.get("norm_before_residual") is True:
        yield Detail(
            "norm_before_residual: true has no effect in SGLang; the draft was trained with it.",
            (facts.config_key("draft", "norm_before_residual"),),
            Fix(text="serve it with vLLM, or use a draft trained for SGLang"),
        )


@rule(
    "norm-output-mismatch",
    "warning",
    "norm_output: serving and training may differ",
    explanation="SGLang feeds the normed state to the next draft step where norm_output is true; SpecForge norms before the head "
    "alone. A draft trained there meets other states from its second step on.",
    source="sglang 0.5.23, models/llama_eagle3.py; SpecForge a6b6b02, llama3_eagle.py",
)
def norm_output_mismatch(facts: Facts) -> Iterator[Detail]:
    """True: who trained it?"""
    draft = facts.draft
    if facts.algorithm != "EAGLE3" or not draft.is_eagle3 or draft.config.get("norm_output") is not True:
        return
    training = (facts.deployment.draft.training if facts.deployment.draft is not None else None) or {}
    who = training.get("trainer", training.get("framework"))
    if training.get("norm_output") is True:
        return
    yield Detail(
        f"norm_output is true{f', trained by {str(who)[:60]}' if who else ''}. Compare the accept rate by position with and without.",
        (facts.config_key("draft", "norm_output"),),
        Fix(text="measure with norm_output true and false, and keep the better"),
    )


@rule(
    "dspark-markov-rank-missing",
    "error",
    "A DSpark draft without a Markov head",
    explanation="DSPARK samples its block through the draft's Markov head: markov_rank must be above 0, else the start fails.",
    source="sglang 0.5.23, models/dspark.py",
)
def dspark_markov_rank_missing(facts: Facts) -> Iterator[Detail]:
    """Absent or 0."""
    if facts.algorithm != "DSPARK" or facts.draft.architecture not in ("DSparkDraftModel", "Qwen3DSparkModel"):
        return
    rank = facts.draft.config.get("markov_rank", 0)
    if isinstance(rank, int) and rank <= 0:
        yield Detail(
            f"markov_rank is {rank}: the start fails.",
            (facts.config_key("draft", "markov_rank", "above 0"),),
            Fix(text="get the whole draft; its config is not that of a DSpark draft"),
        )


@rule(
    "draft-target-name-differs",
    "warning",
    "The draft names another target",
    explanation="The draft's config or training manifest names the target that it was trained on. A base model, another size or "
    "a fine-tune of it has other states.",
    source="EAGLE issue 98; manifests of SpecForge and speculators; model cards",
)
def draft_target_name_differs(facts: Facts) -> Iterator[Detail]:
    """By the manifest or the model card; number formats of the same model are one."""
    target, draft = facts.deployment.target, facts.deployment.draft
    if target is None or draft is None or facts.algorithm != "EAGLE3":
        return
    training = draft.training or {}
    keys = ("target_model_path", "target_model", "target", "base_model")
    named = next((training[key] for key in keys if isinstance(training.get(key), str)), None)
    verifier = (draft.config or {}).get("speculators_config")
    if named is None and isinstance(verifier, dict) and isinstance(verifier.get("verifier"), dict):
        named = verifier["verifier"].get("name_or_path")
    if not isinstance(named, str) or ("/" not in named and "-" not in named):
        return
    served = {_short(target.reference), _short((target.config or {}).get("_name_or_path")), _short(target.folder)}
    served = {name for name in served if re.search(r"\d", name) and not SNAPSHOT.fullmatch(name)}
    if served and _short(named) not in served:
        evidence = (Evidence(what="target named by the draft", expected=target.reference, found=named),)
        yield Detail(
            f"The draft was trained for {named[:120]}.",
            evidence,
            Fix(text="use a draft that was trained for this target"),
        )


SNAPSHOT = re.compile(r"[0-9a-f]{40}|.*/snapshots/.*")
QUANTISED = re.compile(r"(-(fp8|fp4|nvfp4|mxfp4|int4|int8|awq|gptq|w4a16|w8a8|bf16|dynamic|block|quantized))+$")


def _short(path: object) -> str:
    """A model's name without its owner and number format; folders that say nothing have no digit in them."""
    return QUANTISED.sub("", path.rstrip("/").rsplit("/", 1)[-1].lower()) if isinstance(path, str) else ""
