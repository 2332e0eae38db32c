"""Benchmarks: their hub ids, where their prompts are, and how their problems' ids look."""

import re

import msgspec

from engine.data.records import Mapping, Source


class Benchmark(msgspec.Struct, frozen=True, kw_only=True):
    """A set to measure with."""

    name: str
    hub: tuple[str, ...]
    """Ids; the first one is the one to read."""
    configs: tuple[str | None, ...] = (None,)
    split: str = "test"
    mapping: Mapping
    revision: str | None = None


BENCHMARKS: tuple[Benchmark, ...] = (
    Benchmark(
        name="humaneval",
        hub=("openai/openai_humaneval", "openai_humaneval", "evalplus/humanevalplus"),
        mapping=Mapping(prompt="prompt", id="task_id"),
    ),
    Benchmark(
        name="humaneval-x",
        hub=("zai-org/humaneval-x", "THUDM/humaneval-x"),
        configs=("python", "cpp", "go", "java", "js"),
        mapping=Mapping(prompt="prompt", id="task_id"),
        revision="refs/pr/5",
    ),
    Benchmark(
        name="humaneval-xl",
        hub=("FloatAI/humaneval-xl", "humaneval-xl/humaneval-xl"),
        configs=("python", "java", "go", "javascript"),
        mapping=Mapping(prompt="prompt", id="task_id"),
    ),
    Benchmark(
        name="multipl-e",
        hub=("nuprl/MultiPL-E", "multi-pl-e/multi-pl-e"),
        configs=("humaneval-cpp", "humaneval-java", "humaneval-js", "humaneval-go", "humaneval-rs", "mbpp-cpp"),
        mapping=Mapping(prompt="prompt", id="name"),
    ),
    Benchmark(
        name="mbpp",
        hub=("google-research-datasets/mbpp", "mbpp", "evalplus/mbppplus"),
        mapping=Mapping(prompt="text", id="task_id"),
    ),
    Benchmark(
        name="swe-polybench",
        hub=("AmazonScience/SWE-PolyBench", "AmazonScience/SWE-PolyBench_500", "AmazonScience/SWE-PolyBench_Verified"),
        mapping=Mapping(prompt="problem_statement", id="instance_id"),
    ),
    Benchmark(
        name="swe-bench",
        hub=("princeton-nlp/SWE-bench_Verified", "princeton-nlp/SWE-bench_Lite", "SWE-bench/SWE-bench_Verified"),
        mapping=Mapping(prompt="problem_statement", id="instance_id"),
    ),
    Benchmark(name="gsm8k", hub=("openai/gsm8k",), configs=("main",), mapping=Mapping(prompt="question")),
    Benchmark(name="math500", hub=("HuggingFaceH4/MATH-500",), mapping=Mapping(prompt="problem", id="unique_id")),
    Benchmark(
        name="mt-bench",
        hub=("HuggingFaceH4/mt_bench_prompts",),
        split="train",
        mapping=Mapping(messages="prompt", id="prompt_id"),
    ),
    Benchmark(
        name="livecodebench",
        hub=("livecodebench/code_generation_lite", "livecodebench/code_generation"),
        mapping=Mapping(prompt="question_content", id="question_id"),
    ),
)

_PROBLEM_ID = re.compile(
    r"(?:HumanEval|MBPP|Mbpp|CPP|Python|Java|JavaScript|JS|Go|Rust|PHP|Ruby|Kotlin|Swift|Scala|Perl|csharp)/\d{1,4}"
    r"|HumanEval_\d+_\w+|mbpp_\d+_\w+",
)
"""HumanEval/0 (openai/human-eval), CPP/3 (HumanEval-X), HumanEval_0_has_close_elements (MultiPL-E)."""


def benchmark_of(hub: str) -> str | None:
    """The benchmark that a hub id is, or `None`."""
    wanted = hub.lower()
    return next((one.name for one in BENCHMARKS if wanted in _lower(one.hub)), None)


def is_problem_id(text: object) -> bool:
    """Whether a record's id is that of a problem of HumanEval, MBPP or what was translated from them."""
    return isinstance(text, str) and _PROBLEM_ID.fullmatch(text) is not None


def sources_of(name: str) -> list[tuple[Source, Mapping]]:
    """Where the prompts of a benchmark that is known by name or hub id are read; empty where it is not known."""
    wanted = name.lower().removeprefix("hub:")
    for one in BENCHMARKS:
        if wanted == one.name or wanted in _lower(one.hub):
            return [
                (Source(hub=one.hub[0], config=config, split=one.split, revision=one.revision), one.mapping)
                for config in one.configs
            ]
    return []


def _lower(ids: tuple[str, ...]) -> set[str]:
    return {one.lower() for one in ids}
