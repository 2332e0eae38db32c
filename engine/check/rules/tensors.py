"""Whether the checkpoint fills the draft's parameters, and fits them."""

from collections.abc import Iterator, Mapping

from engine.check.facts.deployment import Facts
from engine.check.facts.parameters import OPTIONAL, OPTIONAL_ENDINGS, Shape, expected_parameters
from engine.check.records import Fix
from engine.check.rules.registry import Detail, rule

FUSED = {
    "q_proj": "qkv_proj",
    "k_proj": "qkv_proj",
    "v_proj": "qkv_proj",
    "gate_proj": "gate_up_proj",
    "up_proj": "gate_up_proj",
}


@rule(
    "tensor-missing",
    "error",
    "A parameter that no tensor fills keeps random values",
    explanation="load_weights has no completeness check: a parameter without a tensor stays at its random initial value, and "
    "nothing is logged. A missing lm_head with draft_vocab_size set gave accept length 1.00 in public (sglang issue 27829).",
    source="sglang 0.5.23, models/llama_eagle3.py and kimi_k25_eagle3.py load_weights; sglang issue 27829",
)
def tensor_missing(facts: Facts) -> Iterator[Detail]:
    """Each one by name."""
    tensors = facts.draft.tensors
    if tensors is None or facts.algorithm not in ("EAGLE", "EAGLE3"):
        return
    missing = [name for name in _needed(facts) if name not in tensors and not _fused(name, tensors)]
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
    known = expected.keys() | set(OPTIONAL)
    unused = [
        name
        for name in tensors
        if name not in known and "d2t" not in name and not name.endswith(OPTIONAL_ENDINGS) and not _is_fused(name)
        and not name.startswith("fc_norm.")
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
    if expected is None or tensors is None or facts.algorithm not in ("EAGLE", "EAGLE3"):
        return
    for name, shape in expected.items():
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


def _needed(facts: Facts) -> list[str]:
    expected = expected_parameters(facts.draft)
    if expected is not None:
        return list(expected)
    if facts.draft.family == "eagle3_mla":
        names = ["fc.weight", "norm.weight"]
        return [*names, "lm_head.weight"] if facts.draft.config.get("draft_vocab_size") is not None else names
    if facts.draft.family == "eagle" and facts.algorithm == "EAGLE":
        return ["fc.weight"]
    return []


def _head_fix(facts: Facts) -> Fix:
    draft = facts.draft
    if draft.draft_vocab_size == draft.vocab_size:
        how = "remove the key" if draft.family == "eagle3_mla" else "set it to null"
        return Fix(text=f"draft_vocab_size is the whole vocabulary: {how}, and the target's head is used")
    return Fix(text="get the whole checkpoint, or export it again")


def _fused(name: str, tensors: Mapping[str, object]) -> bool:
    parts = name.split(".")
    fused = FUSED.get(parts[-2]) if len(parts) > 1 else None
    return fused is not None and ".".join([*parts[:-2], fused, parts[-1]]) in tensors


def _is_fused(name: str) -> bool:
    return any(f".{fused}." in name for fused in FUSED.values()) or name.endswith(
        ("qweight", "qzeros", "scales", "g_idx")
    )


def _packed(dtype: str) -> bool:
    return dtype in ("U8", "I32", "F4")


def _fits(found: tuple[int, ...], wanted: Shape) -> bool:
    return len(found) == len(wanted) and all(
        one is None or size == one for size, one in zip(found, wanted, strict=True)
    )
