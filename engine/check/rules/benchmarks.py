"""Benchmarks that measure something else than they seem to."""

from collections.abc import Iterator

from engine.check.facts.deployment import Facts
from engine.check.records import Benchmark, Evidence, Fix
from engine.check.rules.registry import Detail, rule

MADE_UP = {
    "random": "random repeats and cuts texts to drawn lengths",
    "random-ids": "random-ids draws tokens",
    "generated-shared-prefix": "generated-shared-prefix draws tokens",
}
"""Data sets of `bench_serving` that are no requests of users (sglang 0.5.23, benchmark/datasets)."""
SERVING = "sglang 0.5.23, benchmark/serving.py; tokenspeed issue 1305: 3.93 on random text, 1.94 on chat"


@rule(
    "bench-tool-hardcodes-algorithm",
    "error",
    "The benchmark starts its servers with another algorithm",
    explanation="scripts/playground/bench_speculative.py in its older form starts every server with EAGLE, which with an EAGLE-3 "
    "draft measures the incident; its newer form takes --speculative-algorithm. SpecForge's bench_eagle3.py always says EAGLE3.",
    source="sglang, scripts/playground/bench_speculative.py; SpecForge, benchmarks/bench_eagle3.py line 118",
)
def bench_tool_hardcodes_algorithm(facts: Facts) -> Iterator[Detail]:
    """The tool's algorithm against the draft's family."""
    for one in facts.deployment.benchmarks:
        if one.tool == "bench_speculative" and facts.draft.is_eagle3 and "speculative_algorithm" not in one.options:
            yield Detail(
                "bench_speculative.py starts its servers with EAGLE unless it is told otherwise; the draft is an EAGLE-3 "
                "draft: every accept length will read about 1.0.",
                (_evidence(one, "--speculative-algorithm", "EAGLE3", "absent"),),
                Fix(text="use a version that takes --speculative-algorithm and give EAGLE3, or `alula bench sweep`"),
            )
        elif one.tool == "bench_eagle3" and facts.draft.family is not None and not facts.draft.is_eagle3:
            yield Detail(
                f"bench_eagle3.py starts its servers with EAGLE3; the draft is {facts.draft.architecture}.",
                (_evidence(one, "algorithm", "the draft's", "EAGLE3"),),
                Fix(text="start the server yourself and benchmark it as it runs"),
            )


@rule(
    "bench-unrepresentative",
    "warning",
    "The benchmark's text is not what users send",
    explanation="Random token ids, answers forced past their end (bench_serving ignores the end-of-sequence token unless told not "
    "to) and prompts without the chat template have other accept lengths than real use, often much higher ones.",
    source=SERVING,
)
def bench_unrepresentative(facts: Facts) -> Iterator[Detail]:
    """Each reason with its flag, once for a benchmark."""
    for one in facts.deployment.benchmarks:
        if one.tool == "bench_serving":
            reasons = list(_reasons(one))
            if reasons:
                words = "; ".join(reason for reason, _ in reasons)
                yield Detail(
                    f"Accept length measured like this does not hold for users: {words}.",
                    tuple(evidence for _, evidence in reasons),
                    Fix(text="measure with real prompts, the chat template, and answers that may end"),
                )


@rule(
    "live-accept-window",
    "warning",
    "The benchmark's accept length is the server's lifetime average",
    explanation="bench_serving copies avg_spec_accept_length of the first data-parallel rank (bench_one_batch_server: of the "
    "last): a mean since the server's start or last flush, with warm-up and other clients in it, not of this benchmark.",
    source="sglang 0.5.23, benchmark/serving.py line 1654; benchmark/one_batch_server.py",
)
def live_accept_window(facts: Facts) -> Iterator[Detail]:
    """A result whose accept length is that of `/server_info`."""
    for one in facts.deployment.benchmarks:
        key = "acc_length" if one.tool == "bench_one_batch_server" else "accept_length"
        value, states = one.result.get(key), (one.result.get("server_info") or {}).get("internal_states")
        if not isinstance(value, int | float) or isinstance(value, bool) or value <= 0:
            continue
        ranks = len(states) if isinstance(states, list) else 1
        lifetime = _lifetime(states, -1 if key == "acc_length" else 0)
        if lifetime is None or lifetime == value:
            several = f" of one of {ranks} ranks" if ranks > 1 else ""
            yield Detail(
                f"{key} {value:.3f} is the server's average since its start{several}, not this benchmark's.",
                (_evidence(one, key, "accept length of these requests", f"{value:.3f}"),),
                Fix(
                    text="flush before (--flush-cache) on a server of your own, or take the counters' difference: alula bench"
                ),
            )


def _reasons(one: Benchmark) -> Iterator[tuple[str, Evidence]]:
    dataset = str(one.options.get("dataset_name") or one.result.get("dataset_name") or "sharegpt")
    if dataset in MADE_UP:
        yield MADE_UP[dataset], _evidence(one, "--dataset-name", "real prompts", dataset)
    if one.result:
        return
    if "disable_ignore_eos" not in one.options:
        yield "answers run on past their end", _evidence(one, "--disable-ignore-eos", "given", "absent")
    chat = str(one.options.get("backend") or "").endswith("-chat")
    if dataset in ("sharegpt", "custom") and "apply_chat_template" not in one.options and not chat:
        yield "prompts lack the chat template", _evidence(one, "--apply-chat-template", "given", "absent")


def _lifetime(states: object, rank: int) -> float | None:
    """What `/server_info` gives for a rank; `None` where the result does not hold it."""
    if not isinstance(states, list) or not states or not isinstance(states[rank], dict):
        return None
    found = states[rank].get("avg_spec_accept_length")
    return float(found) if isinstance(found, int | float) else None


def _evidence(one: Benchmark, what: str, expected: str, found: str) -> Evidence:
    return Evidence(what=f"{one.tool}: {what}", expected=expected, found=found, place=one.place)
