"""Num steps, top-k and num draft tokens: the shape of the draft tree."""

from collections.abc import Iterator

from engine.check.facts.deployment import EAGLE_LIKE, Facts
from engine.check.records import Fix
from engine.check.rules.registry import Detail, rule

STEPS, TOP_K, TOKENS = "speculative_num_steps", "speculative_eagle_topk", "speculative_num_draft_tokens"
TREE = EAGLE_LIKE | {"STANDALONE"}
BLOCK_SIZE = {"DFLASH": ("speculative_dflash_block_size", 0), "DSPARK": ("speculative_dspark_block_size", 1)}
"""The flag with the block's size, and how many more draft tokens there are."""


@rule(
    "partial-tree-params",
    "error",
    "Num steps, top-k and draft tokens given only in part",
    explanation="All three may be absent (the server then chooses), or num steps, top-k and, above top-k 1, the draft tokens "
    "must be given. Other mixtures end the start with a bare AssertionError or TypeError.",
    source="sglang 0.5.23, arg_groups/speculative_hook.py _handle_eagle_family; gpustack pull 3396",
)
def partial_tree_params(facts: Facts) -> Iterator[Detail]:
    """A mixture that fails at start."""
    steps, top_k, tokens = (facts.get(name) for name in (STEPS, TOP_K, TOKENS))
    if facts.algorithm in BLOCK_SIZE:
        yield from _block_contradiction(facts, tokens)
    if facts.algorithm not in TREE - {"FROZEN_KV_MTP"} or facts.get("speculative_adaptive"):
        return
    evidence = tuple(facts.flag(name) for name in (STEPS, TOP_K, TOKENS))
    fix = Fix(text="give all three, or none of them")
    if steps is None and (top_k is not None or tokens is not None):
        yield Detail(
            "Num steps is absent though others are given: the start fails with a bare AssertionError.", evidence, fix
        )
    elif steps is not None and top_k is None:
        yield Detail("Num steps is given without top-k: the start fails with a TypeError.", evidence, fix)
    elif isinstance(top_k, int) and top_k > 1 and tokens is None:
        yield Detail("Top-k above 1 needs the number of draft tokens: without it the workers fail.", evidence, fix)


@rule(
    "draft-tokens-adjusted",
    "warning",
    "The server changes the number of draft tokens",
    explanation="With top-k 1 the draft is a chain: num draft tokens becomes num steps + 1, whatever was asked for.",
    source="sglang 0.5.23, arg_groups/speculative_hook.py; SpecForge issue 310",
)
def draft_tokens_adjusted(facts: Facts) -> Iterator[Detail]:
    """Top-k 1 and another number than steps + 1."""
    steps, tokens = facts.get(STEPS), facts.get(TOKENS)
    chain = facts.algorithm in TREE and facts.get(TOP_K) == 1
    if chain and isinstance(steps, int) and isinstance(tokens, int) and tokens != steps + 1:
        yield Detail(
            f"With top-k 1 and {steps} steps there are {steps + 1} draft tokens; {tokens} was asked for.",
            (facts.flag(TOKENS, str(steps + 1)), facts.flag(STEPS), facts.flag(TOP_K)),
            Fix(
                text=f"write {steps + 1}, or raise num steps to {tokens - 1}",
                set_flags={"--speculative-num-draft-tokens": str(steps + 1)},
            ),
        )


@rule(
    "draft-tokens-exceed-tree",
    "error",
    "More draft tokens than the tree can hold",
    explanation="A tree of top-k k and s steps holds k + (s - 1) k^2 candidates. Asking for more fails at the first request.",
    source="sglang 0.5.23, speculative/eagle_utils.py, tree construction",
)
def draft_tokens_exceed_tree(facts: Facts) -> Iterator[Detail]:
    """Tokens above the capacity of steps and top-k."""
    steps, top_k, tokens = (facts.get(name) for name in (STEPS, TOP_K, TOKENS))
    if facts.algorithm not in TREE or not all(isinstance(one, int) for one in (steps, top_k, tokens)) or top_k <= 1:
        return
    capacity = top_k + (steps - 1) * top_k**2
    if tokens - 1 > capacity:
        yield Detail(
            f"{steps} steps at top-k {top_k} give at most {capacity} candidates, so at most {capacity + 1} draft tokens; "
            f"{tokens} was asked for. The first request fails.",
            (facts.flag(TOKENS, f"at most {capacity + 1}"), facts.flag(STEPS), facts.flag(TOP_K)),
            Fix(text="lower the draft tokens", set_flags={"--speculative-num-draft-tokens": str(capacity + 1)}),
        )


@rule(
    "tree-value-impossible",
    "error",
    "A tree parameter below 1",
    explanation="Num steps, top-k and num draft tokens count something: below 1 (draft tokens below 2) nothing is drafted.",
    source="sglang 0.5.23, speculative/eagle_worker_v2.py",
)
def tree_value_impossible(facts: Facts) -> Iterator[Detail]:
    """Zero or negative."""
    if facts.algorithm not in TREE:
        return
    for name, least in ((STEPS, 0 if facts.get("speculative_adaptive") else 1), (TOP_K, 1), (TOKENS, 1)):
        value = facts.get(name)
        if isinstance(value, int) and value < least:
            yield Detail(
                f"{value} is below {least}.",
                (facts.flag(name, f"at least {least}"),),
                Fix(text="give a positive number"),
            )


@rule(
    "adaptive-switched-off",
    "warning",
    "Adaptive speculation is switched off with these flags",
    explanation="--speculative-adaptive works for EAGLE and EAGLE3 with top-k 1, without attention data parallelism and "
    "multi-layer EAGLE. Elsewhere the server switches it off with a line in its log.",
    source="sglang 0.5.23, arg_groups/speculative_hook.py",
)
def adaptive_switched_off(facts: Facts) -> Iterator[Detail]:
    """Adaptive where it does not hold."""
    if not facts.get("speculative_adaptive"):
        return
    reasons = []
    if facts.algorithm not in ("EAGLE", "EAGLE3"):
        reasons.append(f"the algorithm is {facts.named_algorithm or 'absent'}")
    if (facts.top_k or 1) != 1:
        reasons.append(f"top-k is {facts.top_k}")
    if facts.get("enable_dp_attention") or (facts.get("attn_dp_size") or 1) > 1:
        reasons.append("attention is data-parallel")
    if facts.get("enable_multi_layer_eagle"):
        reasons.append("multi-layer EAGLE is on")
    if reasons:
        yield Detail(f"It is switched off: {', '.join(reasons)}.", (facts.flag("speculative_adaptive"),))


def _block_contradiction(facts: Facts, tokens: object) -> Iterator[Detail]:
    """DFLASH: as many draft tokens as the block has; DSPARK: one more. Two flags that disagree stop the start."""
    name, more = BLOCK_SIZE[facts.algorithm or ""]
    block = facts.get(name)
    if isinstance(block, int) and isinstance(tokens, int) and tokens != block + more:
        yield Detail(
            f"{facts.algorithm} with a block of {block} has {block + more} draft tokens; {tokens} are asked for, and the "
            "start fails.",
            (facts.flag(TOKENS, str(block + more)), facts.flag(name)),
            Fix(text="leave the number of draft tokens away", drop_flags=("--speculative-num-draft-tokens",)),
        )
