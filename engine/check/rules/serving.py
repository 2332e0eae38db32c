"""Settings around speculation that cost its gain."""

from collections.abc import Iterator

from engine.check.facts.deployment import Facts
from engine.check.records import Evidence, Fix
from engine.check.rules.registry import Detail, rule

DEFAULT_RUNNING = 48
SPEC_V2 = "SGLANG_ENABLE_SPEC_V2"


@rule(
    "cuda-graph-disabled",
    "warning",
    "CUDA graphs are off with speculation on",
    explanation="Draft steps are tiny kernels: without graphs their launches cost more than they compute, and speculation is "
    "slower than the baseline.",
    source="sglang 0.5.23, arg_groups; measured: the incident's best figure needed graphs",
)
def cuda_graph_disabled(facts: Facts) -> Iterator[Detail]:
    """By the old switch, or the backend of decoding."""
    if facts.algorithm is None or facts.get("device") == "cpu":
        return
    name = "disable_cuda_graph" if facts.get("disable_cuda_graph") else "cuda_graph_backend_decode"
    if facts.get("disable_cuda_graph") or facts.get("cuda_graph_backend_decode") == "disabled":
        spelled = "--" + name.replace("_", "-")
        yield Detail(
            "Each draft step is then launched kernel by kernel; speculation may lose to the baseline.",
            (facts.flag(name),),
            Fix(text="leave it away", drop_flags=(spelled,)),
        )


@rule(
    "cuda-graph-batch-below-load",
    "info",
    "The largest captured batch is under the running requests",
    explanation="Batches larger than the largest captured one run without a graph.",
    source="sglang 0.5.23, model_executor/cuda_graph_runner.py",
)
def cuda_graph_batch_below_load(facts: Facts) -> Iterator[Detail]:
    """Both are given."""
    running = facts.get("max_running_requests")
    if facts.algorithm is None or not isinstance(running, int):
        return
    for name in ("cuda_graph_max_bs", "cuda_graph_max_bs_decode"):
        largest = facts.get(name)
        if isinstance(largest, int) and facts.given(name) is not None and largest < running:
            yield Detail(
                f"Graphs are captured up to a batch of {largest}, {running} requests may run.",
                (facts.flag(name, str(running)), facts.flag("max_running_requests")),
            )


@rule(
    "running-requests-capped",
    "info",
    "Running requests are capped at 48",
    explanation="With speculation and no --max-running-requests the server takes 48, over all data-parallel ranks together. A "
    "baseline without speculation has no such cap: set it in both for a fair comparison.",
    source="sglang 0.5.23, arg_groups/speculative_hook.py; sglang pull 34290; a log line from 0.5.4 on",
)
def running_requests_capped(facts: Facts) -> Iterator[Detail]:
    """Not given."""
    if (
        facts.algorithm in (None, "UNO")
        or facts.get("max_running_requests") is not None
        or facts.deployment.launch is None
    ):
        return
    ranks = facts.get("dp_size") or 1
    each = f", {DEFAULT_RUNNING // ranks} on each of {ranks} ranks" if isinstance(ranks, int) and ranks > 1 else ""
    yield Detail(f"--max-running-requests is not given: 48 in all{each}.", (facts.flag("max_running_requests"),))


@rule(
    "overlap-disabled",
    "warning",
    "Overlap scheduling is off",
    explanation="Overlap hides the scheduler's work behind the GPU's. With speculation it is off up to 0.5.3, off without "
    f"{SPEC_V2}=1 in 0.5.4 to 0.5.10, and off wherever --disable-overlap-schedule is given.",
    source="sglang wheels 0.5.3 to 0.5.23, arg_groups/speculative_hook.py",
)
def overlap_disabled(facts: Facts) -> Iterator[Detail]:
    """By flag or release."""
    if facts.algorithm is None:
        return
    if facts.get("disable_overlap_schedule"):
        fix = Fix(text="leave it away", drop_flags=("--disable-overlap-schedule",))
        yield Detail("--disable-overlap-schedule is given.", (facts.flag("disable_overlap_schedule"),), fix)
    elif facts.since("0.5.4") and not facts.since("0.5.11") and not facts.switched_on(SPEC_V2):
        yield Detail(
            f"SGLang {facts.release} overlaps with speculation only with {SPEC_V2}=1.",
            (Evidence(what=SPEC_V2, expected="1", found=facts.environment(SPEC_V2)),),
            Fix(text="set it (top-k 1 only)", set_environment={SPEC_V2: "1"}),
            "info",
        )
    elif not facts.since("0.5.4"):
        yield Detail(
            f"SGLang {facts.release} never overlaps with speculation.",
            (facts.flag("speculative_algorithm"),),
            None,
            "info",
        )
    elif not facts.since("0.5.13") and (facts.top_k or 1) > 1:
        yield Detail(
            f"SGLang {facts.release} falls back to the worker without overlap at top-k {facts.top_k}.",
            (facts.flag("speculative_eagle_topk", "1"),),
            None,
            "info",
        )
    elif facts.get("device") == "cpu":
        yield Detail("On a CPU there is no overlap with speculation.", (facts.flag("device"),), None, "info")


@rule(
    "spec-v2-variable-ignored",
    "error",
    f"{SPEC_V2} has no effect, or is refused",
    explanation="From 0.5.14 on the variable is gone: the second worker is the only one. In 0.5.4 to 0.5.10 it refuses top-k above 1.",
    source="sglang 0.5.9 and 0.5.14; sglang issue 14077",
)
def spec_v2_variable_ignored(facts: Facts) -> Iterator[Detail]:
    """By release and top-k."""
    if facts.environment(SPEC_V2) is None or facts.algorithm is None:
        return
    evidence = (Evidence(what=SPEC_V2, found=facts.environment(SPEC_V2)),)
    fix = Fix(text="unset it", drop_environment=(SPEC_V2,))
    if facts.since("0.5.14"):
        yield Detail(f"SGLang {facts.release} does not read it.", evidence, fix, "info")
    elif facts.switched_on(SPEC_V2) and facts.since("0.5.4") and not facts.since("0.5.11") and (facts.top_k or 1) > 1:
        yield Detail(f"SGLang {facts.release} refuses it with top-k {facts.top_k}.", evidence, fix)


@rule(
    "memory-fraction-high",
    "warning",
    "Little memory is left for the draft and its graphs",
    explanation="The draft's weights, its KV cache and the graphs come out of what --mem-fraction-static leaves. Values of 0.9 and "
    "more run out of memory while graphs are captured.",
    source="sglang issues 6875 and 3430",
)
def memory_fraction_high(facts: Facts) -> Iterator[Detail]:
    """A rule of thumb."""
    fraction = facts.get("mem_fraction_static")
    if (
        facts.algorithm in (None, "NGRAM")
        or not isinstance(fraction, float)
        or facts.given("mem_fraction_static") is None
    ):
        return
    graphs = max(
        (v for n in ("cuda_graph_max_bs", "cuda_graph_max_bs_decode") if isinstance(v := facts.get(n), int)), default=0
    )
    if fraction >= 0.9 or (fraction >= 0.85 and (facts.top_k or 1) > 1 and graphs > 64):
        yield Detail(
            f"--mem-fraction-static {fraction} leaves little for the draft: memory may run out while graphs are captured.",
            (facts.flag("mem_fraction_static", "below 0.9"),),
            Fix(text="lower it, or leave it away: the server then estimates", drop_flags=("--mem-fraction-static",)),
        )
