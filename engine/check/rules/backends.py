"""Attention backends, page sizes, parallelism."""

from collections.abc import Iterator

from engine.check.facts.deployment import EAGLE_LIKE, Facts
from engine.check.records import Fix
from engine.check.rules.registry import Detail, rule

TOP_K_ONE = frozenset(
    {
        "flashmla",
        "flashinfer_mla",
        "trtllm_mla",
        "cutedsl_mla",
        "cutlass_mla",
        "dsa",
        "nsa",
        "minimax_sparse",
        "qsa",
        "dual_chunk_flash_attn",
    }
)
NO_DRAFT_BACKEND = frozenset({"torch_native", "flex_attention", "wave", "hpc_ops"})
EAGLE_TREE = EAGLE_LIKE | {"STANDALONE"}


@rule(
    "topk-backend-unsupported",
    "error",
    "Top-k above 1 does not work with this attention backend",
    explanation="trtllm_mha refuses it at start. MLA and sparse backends know top-k 1 only, which shows at run time. With pages "
    "larger than 1 only some backends can build the tree.",
    source="sglang 0.5.23, arg_groups/speculative_hook.py; page sizes by release 0.5.2, 0.5.6, 0.5.13",
)
def topk_backend_unsupported(facts: Facts) -> Iterator[Detail]:
    """By backend, and by page size."""
    if facts.algorithm == "NGRAM":
        yield from _paged_ngram(facts)
    if facts.algorithm not in EAGLE_TREE or (facts.top_k or 1) <= 1:
        return
    fix = Fix(text="use top-k 1", set_flags={"--speculative-eagle-topk": "1"})
    for name in ("attention_backend", "decode_attention_backend", "prefill_attention_backend"):
        backend = facts.get(name)
        if backend == "trtllm_mha" or backend in TOP_K_ONE:
            when = "the start fails" if backend == "trtllm_mha" else "it fails at run time"
            yield Detail(
                f"{backend} knows top-k 1 only; with top-k {facts.top_k} {when}.",
                (facts.flag(name), facts.flag("speculative_eagle_topk", "1")),
                fix,
            )
            return
    page = facts.get("page_size")
    backend = facts.get("attention_backend")
    allowed = _paged_tree_backends(facts)
    if isinstance(page, int) and page > 1 and backend not in (None, "auto") and backend not in allowed:
        yield Detail(
            f"Top-k above 1 with pages of {page} works with {', '.join(sorted(allowed))} only in SGLang {facts.release}.",
            (facts.flag("page_size", "1"), facts.flag("attention_backend"), facts.flag("speculative_eagle_topk", "1")),
            Fix(text="use pages of 1, or top-k 1", set_flags={"--page-size": "1"}),
            None if facts.since("0.5.2") else "warning",  # older releases set top-k to 1 and say so
        )


@rule(
    "draft-backend-unsupported",
    "error",
    "This attention backend cannot run a draft",
    explanation="torch_native, flex_attention, wave and hpc_ops raise «EAGLE is not supported in ... attention backend» at start.",
    source="sglang 0.5.23, speculative/draft_utils.py",
)
def draft_backend_unsupported(facts: Facts) -> Iterator[Detail]:
    """The draft's own backend, else the general ones."""
    if facts.algorithm not in EAGLE_TREE:
        return
    names = ("speculative_draft_attention_backend", "decode_attention_backend", "attention_backend")
    chosen = next((name for name in names if facts.get(name) is not None), None)
    if chosen is not None and facts.get(chosen) in NO_DRAFT_BACKEND:
        yield Detail(
            f"{facts.get(chosen)} has no draft backend: the start fails.",
            (facts.flag(chosen, "triton, flashinfer or fa3"),),
            Fix(text="choose another backend", set_flags={"--attention-backend": "triton"}),
        )


@rule(
    "parallelism-unsupported",
    "error",
    "This kind of parallelism does not work with the algorithm",
    explanation="Pipeline parallelism is refused with EAGLE3 (up to 0.5.20 with every algorithm). STANDALONE and NGRAM refuse "
    "attention data parallelism; DFLASH and DSPARK need --enable-dp-lm-head with it.",
    source="sglang 0.5.20 and 0.5.23, arg_groups/validation_hook.py",
)
def parallelism_unsupported(facts: Facts) -> Iterator[Detail]:
    """Pipelines and data-parallel attention."""
    if facts.algorithm is None:
        return
    pipeline = facts.get("pp_size", facts.get("pipeline_parallel_size", 1)) or 1
    name = "pp_size" if facts.arguments is not None and "pp_size" in facts.arguments.flags else "pipeline_parallel_size"
    if isinstance(pipeline, int) and pipeline > 1 and not _pipeline_allowed(facts):
        yield Detail(
            f"{facts.named_algorithm} with {pipeline} pipeline stages is refused at start.",
            (facts.flag(name, "1"), facts.flag("speculative_algorithm")),
            Fix(text="use tensor parallelism alone", set_flags={"--pp-size": "1"}),
        )
    ranks = facts.get("dp_size", facts.get("data_parallel_size", 1)) or 1
    data_parallel = bool(facts.get("enable_dp_attention") and ranks != 1) or (facts.get("attn_dp_size") or 1) > 1
    evidence = (facts.flag("enable_dp_attention"), facts.flag("speculative_algorithm"))
    if data_parallel and facts.algorithm in ("STANDALONE", "NGRAM"):
        yield Detail(f"{facts.algorithm} refuses data-parallel attention.", evidence, Fix(text="leave it away"))
    elif data_parallel and facts.algorithm in ("DFLASH", "DSPARK") and not facts.get("enable_dp_lm_head"):
        yield Detail(
            f"{facts.algorithm} with data-parallel attention needs --enable-dp-lm-head.",
            evidence,
            Fix(text="add it", set_flags={"--enable-dp-lm-head": None}),
        )


def _paged_tree_backends(facts: Facts) -> set[str]:
    if facts.since("0.5.13"):
        return {"flashinfer", "fa3", "triton"}
    return {"flashinfer", "fa3"} if facts.since("0.5.6") else {"flashinfer"}


def _pipeline_allowed(facts: Facts) -> bool:
    """EAGLE on a prefill node, or alone by a variable; DSPARK on a prefill node (0.5.21 on, validation_hook.py)."""
    if not facts.since("0.5.21"):
        return False
    by_variable = facts.switched_on("SGLANG_ENABLE_PP_SPEC")
    prefill = facts.get("disaggregation_mode") == "prefill"
    if facts.algorithm == "DSPARK":
        return prefill and not by_variable
    return facts.algorithm == "EAGLE" and not facts.get("enable_multi_layer_eagle") and by_variable != prefill


def _paged_ngram(facts: Facts) -> Iterator[Detail]:
    """NGRAM drafts a tree unless its breadth is 1; pages need flashinfer then."""
    page, backend = facts.get("page_size"), facts.get("attention_backend")
    wide = facts.get("speculative_ngram_max_bfs_breadth", 10) != 1
    if wide and isinstance(page, int) and page > 1 and backend not in (None, "auto", "flashinfer"):
        yield Detail(
            f"NGRAM with pages of {page} works with flashinfer only: the start fails with {backend}.",
            (facts.flag("page_size", "1"), facts.flag("attention_backend", "flashinfer")),
            Fix(text="use pages of 1", set_flags={"--page-size": "1"}),
        )
