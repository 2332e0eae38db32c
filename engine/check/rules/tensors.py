"""Whether the checkpoint fills the draft's parameters, and fits them."""

from collections.abc import Iterator, Mapping

from engine.check.facts.deployment import Facts
from engine.check.facts.parameters import OPTIONAL_ENDINGS, Shape, expected_parameters, optional_parameters
from engine.check.records import Evidence, Fix
from engine.check.rules.registry import Detail, rule

FUSED = {
    "q_proj": "qkv_proj",
    "k_proj": "qkv_proj",
    "v_proj": "qkv_proj",
    "gate_proj": "gate_up_proj",
    "up_proj": "gate_up_proj",
    "q_a_proj": "fused_qkv_a_proj_with_mqa",
    "kv_a_proj_with_mqa": "fused_qkv_a_proj_with_mqa",
}
WITH_EH_PROJ = frozenset(
    {"DeepseekV3ForCausalLM", "DeepseekV32ForCausalLM", "Glm4MoeForCausalLM", "Glm4MoeLiteForCausalLM"}
    | {"GlmMoeDsaForCausalLM", "DeepseekV3ForCausalLMNextN", "Glm4MoeForCausalLMNextN"}
)
"""Classes whose MTP layer begins with a projection of embedding and state."""

PACKED_NAMES = ("qweight", "weight_packed", "weight_q", "w_q")
"""What stands in place of `weight` in quantised checkpoints."""


@rule(
    "tensor-missing",
    "error",
    "A parameter that no tensor fills keeps random values",
    explanation="load_weights has no completeness check: a parameter without a tensor stays at its random initial value, and "
    "nothing is logged. A missing lm_head with draft_vocab_size set gave accept length 1.00 in public (sglang issue 27829).",
    source="sglang 0.5.23, models/llama_eagle3.py, kimi_k25_eagle3.py and dflash.py load_weights; sglang issue 27829",
)
def tensor_missing(facts: Facts) -> Iterator[Detail]:
    """Each one by name."""
    tensors = facts.draft.tensors
    if tensors is None or facts.algorithm not in ("EAGLE", "EAGLE3", "DFLASH"):
        return
    missing = [name for name in _needed(facts) if not _filled(name, tensors)]
    for name in missing:
        yield Detail(
            f"{name} is not in the checkpoint: it keeps random values, and nothing is logged."
            + (
                " Narrower than its target, the draft cannot borrow the target's embeddings." if "embed" in name else ""
            ),
            (facts.tensor(name), *([facts.config_key("draft", "draft_vocab_size")] if "lm_head" in name else [])),
            _head_fix(facts) if "lm_head" in name else Fix(text="get the whole checkpoint, or export it again"),
        )


@rule(
    "mtp-layers-missing",
    "error",
    "The checkpoint lacks the MTP layers that it declares",
    explanation="With EAGLE or NEXTN these targets draft with the MTP layer of their own checkpoint. Exports and quantised copies "
    "often leave it out; load_weights then finds nothing under its name, and the draft keeps random values.",
    source="sglang 0.5.23, models/deepseek_nextn.py and glm4_moe_nextn.py; deepseek_common/deepseek_weight_loader.py",
)
def mtp_layers_missing(facts: Facts) -> Iterator[Detail]:
    """No projection of embedding and state in readable weights."""
    own = facts.draft_path in (None, facts.get("model_path"))
    role = "target" if own else "draft"
    model = facts.deployment.target if own else facts.deployment.draft
    class_name = facts.target.architecture if own else facts.draft.architecture
    if facts.algorithm != "EAGLE" or model is None or not model.tensors or class_name not in WITH_EH_PROJ:
        return
    if own and not facts.target.config.get("num_nextn_predict_layers"):
        return
    if not any(".eh_proj." in name for name in model.tensors):
        yield Detail(
            f"No tensor of the {role}'s {len(model.tensors)} is an eh_proj: its MTP layer is not there, and drafts at random.",
            (
                facts.config_key(role, "num_nextn_predict_layers"),
                Evidence(what=f"{model.folder}: *.eh_proj.weight", found="absent"),
            ),
            Fix(text="get the checkpoint with its MTP layer, or an exported one, and give its path as the draft"),
        )


@rule(
    "tensor-unused",
    "warning",
    "A tensor that no parameter takes is dropped silently",
    explanation="load_weights drops every tensor whose name fits no parameter. What was trained there has no effect.",
    source="sglang 0.5.23, models/llama_eagle3.py load_weights",
)
def tensor_unused(facts: Facts) -> Iterator[Detail]:
    """Names that the class does not know."""
    expected, tensors = expected_parameters(facts.draft), facts.draft.tensors
    if expected is None or tensors is None or facts.algorithm != "EAGLE3":
        return
    known = expected.keys() | optional_parameters(facts.draft).keys()
    unused = [
        name
        for name in tensors
        if name not in known and "d2t" not in name and not name.endswith(OPTIONAL_ENDINGS) and not _is_fused(name)
    ]  # fmt: skip
    if unused:
        shown = ", ".join(unused[:6]) + (f" and {len(unused) - 6} more" if len(unused) > 6 else "")
        yield Detail(
            f"{shown}: no parameter of {facts.draft.architecture} takes them.",
            tuple(facts.tensor(n) for n in unused[:6]),
        )


@rule(
    "tensor-shape-mismatch",
    "error",
    "A tensor's shape contradicts the config",
    explanation="A tensor that does not fit its parameter ends the start in an assertion.",
    source="sglang 0.5.23, models/llama_eagle3.py and layers/linear.py",
)
def tensor_shape_mismatch(facts: Facts) -> Iterator[Detail]:
    """Attention heads, MLP, norms; fc and head have rules of their own."""
    expected, tensors = expected_parameters(facts.draft), facts.draft.tensors
    if expected is None or tensors is None or facts.algorithm not in ("EAGLE", "EAGLE3", "DFLASH"):
        return
    for name, shape in {**_beside(facts), **expected}.items():
        tensor = tensors.get(name)
        if tensor is None or name == "fc.weight" or _packed(tensor.dtype) or _fits(tensor.shape, shape):
            continue
        wanted = " x ".join("any" if size is None else str(size) for size in shape)
        found = " x ".join(map(str, tensor.shape))
        yield Detail(
            f"{tensor.name} is {found}; the config makes it {wanted}.",
            (facts.tensor(name, wanted),),
            Fix(text="config and weights belong to different drafts: get both again"),
        )


def _beside(facts: Facts) -> Mapping[str, Shape]:
    return optional_parameters(facts.draft) if facts.draft.family in ("eagle3_llama", "eagle3_mla") else {}


def _needed(facts: Facts) -> list[str]:
    expected = expected_parameters(facts.draft)
    if expected is not None:
        return list(expected)
    if facts.draft.family == "eagle" and facts.algorithm == "EAGLE":
        return ["fc.weight"]
    return []


def _head_fix(facts: Facts) -> Fix:
    draft = facts.draft
    if draft.draft_vocab_size == draft.vocab_size:
        how = "remove the key" if draft.family == "eagle3_mla" else "set it to null"
        return Fix(text=f"draft_vocab_size is the whole vocabulary: {how}, and the target's head is used")
    return Fix(text="get the whole checkpoint, or export it again")


def _filled(name: str, tensors: Mapping[str, object]) -> bool:
    """By a tensor of this name, of the fused parameter's, or of a packed format's."""
    parts = name.split(".")
    fused = FUSED.get(parts[-2]) if len(parts) > 1 else None
    stems = [".".join(parts[:-1])] + ([".".join([*parts[:-2], fused])] if fused is not None else [])
    endings = (parts[-1], *(PACKED_NAMES if parts[-1] == "weight" else ()))
    return any(f"{stem}.{ending}" in tensors for stem in stems for ending in endings)


def _is_fused(name: str) -> bool:
    return any(f".{fused}." in name for fused in FUSED.values()) or name.endswith(
        ("qweight", "qzeros", "scales", "g_idx", "weight_packed", "weight_shape", "weight_q", "w_q")
    )


def _packed(dtype: str) -> bool:
    return dtype in ("U8", "I32", "F4")


def _fits(found: tuple[int, ...], wanted: Shape) -> bool:
    return len(found) == len(wanted) and all(
        one is None or size == one for size, one in zip(found, wanted, strict=True)
    )
