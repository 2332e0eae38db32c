"""Context, number formats, quantisation, rotary embedding."""

from collections.abc import Iterator

from engine.check.facts.deployment import Facts
from engine.check.facts.target import derived_context, first_architecture, integer, rope_of
from engine.check.records import Evidence, Fix
from engine.check.rules.registry import Detail, rule

OVERRIDE = "SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN"
PACKED = ("awq", "gptq", "marlin", "modelopt_fp4", "compressed-tensors", "compressed_tensors", "w4afp8", "moe_wna16")
ONLINE = ("fp8", "w8a8_int8", "w8a8_fp8", "blockwise_int8", "mxfp4", "mxfp8", "int8")
ORDINARY = frozenset({"EAGLE", "EAGLE3", "STANDALONE"})


@rule(
    "draft-context-short",
    "error",
    "The draft knows fewer positions than are served",
    explanation="The draft is built with the target's context length. Where that is longer than the draft's own positions the "
    f"start fails; with {OVERRIDE}=1 it starts, and accept length falls off beyond what the draft was trained for.",
    source="sglang 0.5.23, configs/model_config.py; sglang issues 6783 and 3574",
)
def draft_context_short(facts: Facts) -> Iterator[Detail]:
    """Served context against the draft's positions."""
    if facts.algorithm not in ORDINARY or not facts.draft.config or facts.draft.family in ("mtp", None):
        return
    served, own = facts.get("context_length") or facts.target.context_length, derived_context(facts.draft.config)
    if not isinstance(served, int) or own is None or served <= own:
        return
    allowed = facts.switched_on(OVERRIDE) or (not facts.since("0.5.2") and facts.environment(OVERRIDE) is None)
    what = f"beyond {own} positions accept length falls off" if allowed else f"the start fails (unless {OVERRIDE}=1)"
    yield Detail(
        f"{served} positions are served, the draft has {own}: {what}.",
        (
            facts.config_key("draft", "max_position_embeddings", served),
            facts.flag("context_length")
            if facts.given("context_length")
            else facts.config_key("target", "max_position_embeddings"),
            Evidence(what=OVERRIDE, found=facts.environment(OVERRIDE)),
        ),
        Fix(text=f"serve at most {own} positions", set_flags={"--context-length": str(own)}),
        "warning" if allowed else None,
    )


@rule(
    "dtype-mismatch",
    "error",
    "Draft and target run in different number formats",
    explanation="With --dtype auto each follows its own config, and float32 or none becomes float16. The states of a bfloat16 "
    "target then meet the weights of a float16 draft head in one matrix product: the start or the first request fails. A "
    "separate draft model (STANDALONE) shares no product with its target; there it is a warning.",
    source="sglang 0.5.23, configs/model_config.py _get_and_verify_dtype; sglang pull 3431; SpecForge issue 348",
)
def dtype_mismatch(facts: Facts) -> Iterator[Detail]:
    """Only where nobody has named one."""
    if (
        facts.get("dtype") not in ("auto", None)
        or facts.algorithm not in ORDINARY
        or facts.draft.family in ("mtp", None)
    ):
        return
    draft, target = _dtype(facts.draft.config), _dtype(facts.target.config, facts)
    if facts.draft.config and facts.target.config and draft and target and draft != target:
        apart = facts.algorithm == "STANDALONE"
        what = "they share no product, but round differently" if apart else "the first matrix product of both fails"
        yield Detail(
            f"The target runs in {target}, the draft in {draft}: {what}.",
            (
                facts.config_key("draft", "torch_dtype"),
                facts.config_key("target", "torch_dtype"),
                facts.flag("dtype", target),
            ),
            Fix(text=f"say --dtype {target}", set_flags={"--dtype": target}),
            "warning" if apart else None,
        )


@rule(
    "draft-quantization-inherited",
    "warning",
    "The target's quantisation flag reaches the draft",
    explanation="--quantization also holds for a draft without a format of its own. Online formats quantise it on loading, "
    "silently; packed formats need packed tensors, and the start fails.",
    source="sglang 0.5.23, arg_groups/serving_hook.py",
)
def draft_quantization_inherited(facts: Facts) -> Iterator[Detail]:
    """The flag is set, and the draft is in plain numbers."""
    quantization = facts.get("quantization")
    draft = facts.deployment.draft
    if not isinstance(quantization, str) or facts.algorithm not in ORDINARY or draft is None or draft.config is None:
        return
    if draft.quantization_config is not None or facts.get("speculative_draft_model_quantization") is not None:
        return
    if facts.draft.family == "eagle3_mla" and quantization == "modelopt_fp4":
        return  # the class drops this one itself (models/kimi_k25_eagle3.py)
    packed = quantization.lower().startswith(PACKED)
    what = (
        "packed tensors are looked for in it, and the start fails" if packed else "it is quantised on loading, silently"
    )
    known = facts.since("0.5.7")
    yield Detail(
        f"--quantization {quantization} also holds for the draft, which is in plain numbers: {what}.",
        (facts.flag("quantization"), facts.flag("speculative_draft_model_quantization", "unquant")),
        Fix(text="keep the draft as it is", set_flags={"--speculative-draft-model-quantization": "unquant"})
        if known
        else Fix(text="leave --quantization away where the checkpoint says it itself"),
        "error" if packed else None,
    )


@rule(
    "rope-mismatch",
    "warning",
    "Rotary embeddings differ",
    explanation="Another base or scaling than the target's. Many good drafts were trained so; if accept length falls with "
    "position, this is the first suspect.",
    source="SpecForge configs; sfllm pull 32",
)
def rope_mismatch(facts: Facts) -> Iterator[Detail]:
    """Base or scaling."""
    if facts.algorithm != "EAGLE3" or facts.draft.family != "eagle3_llama":
        return
    draft, target = rope_of(facts.draft.config), rope_of(facts.target.config)
    if draft["theta"] is None or target["theta"] is None:
        return
    same_scaling = _kind(draft["scaling"]) == _kind(target["scaling"])
    if float(draft["theta"]) != float(target["theta"]) or not same_scaling:
        yield Detail(
            f"The draft's base is {draft['theta']:g} ({_kind(draft['scaling'])}), the target's {target['theta']:g} "
            f"({_kind(target['scaling'])}).",
            (facts.config_key("draft", "rope_theta", target["theta"]), facts.config_key("target", "rope_theta")),
        )


@rule(
    "draft-heads-not-divisible",
    "error",
    "The draft's attention heads cannot be shared out",
    explanation="Heads must divide by the tensor parallel size, and key-value heads must be a multiple or a divisor of it: an "
    "assertion at start.",
    source="sglang 0.5.23, models/llama.py",
)
def draft_heads_not_divisible(facts: Facts) -> Iterator[Detail]:
    """By tensor parallel size; attention data parallelism divides it."""
    if facts.algorithm not in ("EAGLE", "EAGLE3") or facts.draft.family not in ("eagle3_llama", "eagle", "eagle3_mla"):
        return
    parts = facts.tp_size
    for name in ("dp_size", "attn_dp_size"):
        width = facts.get(name)
        if isinstance(width, int) and width > 1 and (name == "attn_dp_size" or facts.get("enable_dp_attention")):
            parts = max(1, parts // width)
            break
    heads, kv_heads = (integer(facts.draft.config.get(key)) for key in ("num_attention_heads", "num_key_value_heads"))
    evidence = (
        facts.config_key("draft", "num_attention_heads"),
        facts.config_key("draft", "num_key_value_heads"),
        facts.flag("tp_size"),
    )
    if heads is not None and heads % parts:
        yield Detail(
            f"{heads} heads over {parts} parts: an assertion at start.", evidence, Fix(text="choose another --tp-size")
        )
    elif kv_heads and facts.draft.family != "eagle3_mla" and kv_heads % parts and parts % kv_heads:
        yield Detail(
            f"{kv_heads} key-value heads over {parts} parts: an assertion at start.",
            evidence,
            Fix(text="choose another --tp-size"),
        )


@rule(
    "target-rotated-quant",
    "warning",
    "The target's states are rotated, the draft shares its embeddings",
    explanation="QuaRot-style checkpoints rotate the residual stream. A draft trained on the plain target gets rotated states.",
    source="vllm-ascend pull 7038",
)
def target_rotated_quant(facts: Facts) -> Iterator[Detail]:
    """By the quantisation config's own words."""
    config = facts.deployment.target.quantization_config if facts.deployment.target is not None else None
    text = str(config).lower() if config is not None else ""
    if facts.algorithm == "EAGLE3" and any(word in text for word in ("quarot", "spinquant", "hadamard", "rotation")):
        yield Detail(
            "The target's quantisation rotates its hidden states; a draft for the plain model does not fit.",
            (facts.config_key("target", "quantization_config"),),
            Fix(text="use a draft trained on this checkpoint"),
        )


def _dtype(config: object, facts: Facts | None = None) -> str | None:
    """What --dtype auto makes of a config."""
    if not isinstance(config, dict) or not config:
        return None
    stated = config.get("torch_dtype", config.get("dtype"))
    outer = facts.deployment.target.config if facts is not None and facts.deployment.target is not None else None
    if stated is None and outer is not None:
        stated = outer.get("torch_dtype", outer.get("dtype"))
    name = str(stated).removeprefix("torch.") if stated is not None else "float32"
    if name == "float32":
        gemma = "gemma" in (first_architecture(outer or config) or "").lower()
        return "bfloat16" if gemma else "float16"
    return name if name in ("float16", "bfloat16") else None


def _kind(scaling: object) -> str:
    if not isinstance(scaling, dict):
        return "no scaling"
    kind = scaling.get("rope_type", scaling.get("type"))
    factor = scaling.get("factor")
    return f"{kind}" + (f" x{factor}" if factor is not None else "")
