"""The reference server over HTTP: tokens a second and accept length, with 1, 8 and 32 requests at once."""

import asyncio
import time
from collections.abc import Callable, Iterator

import aiohttp

from engine.reference.checkpoint import shipped_draft, shipped_target
from engine.reference.server import serve_reference
from engine.reference.settings import ServerSettings
from tests.benchmarks.results import Result

PROMPT = 'def read_records(path, encoding=\'utf-8\'):\n    """Return one record for each line of a file."""\n'
TOKENS = 128


def run(report: Callable[[str], None]) -> Iterator[Result]:
    """Baseline, the wrong flag and the right one. At least 1,000 tokens/s are wanted of 32 at once."""
    for algorithm in (None, "EAGLE", "EAGLE3"):
        for requests in (1, 8, 32):
            report(f"{algorithm or 'baseline'}, {requests} at once")
            subject = f"reference, {algorithm or 'baseline'}, {requests} at once"
            rate, accept = asyncio.run(measure(algorithm, requests))
            yield Result(subject, "speed", rate, "tok/s")
            if algorithm:
                yield Result(subject, "accept length", accept, "tokens")


async def measure(algorithm: str | None, requests: int) -> tuple[float, float]:
    """Tokens a second, and mean accept length, of `requests` sampled answers at once."""
    settings = ServerSettings(
        model_path=shipped_target(),
        port=0,
        speculative_algorithm=algorithm,
        speculative_draft_model_path=shipped_draft() if algorithm else None,
    )
    sampling = {"temperature": 0.7, "max_new_tokens": TOKENS, "ignore_eos": True}
    async with serve_reference(settings) as url, aiohttp.ClientSession(url) as session:

        async def ask(number: int) -> float:
            body = {"text": PROMPT, "sampling_params": sampling | {"sampling_seed": number}}
            async with session.post("/generate", json=body) as response:
                return float((await response.json())["meta_info"].get("spec_accept_length", 1.0))

        await ask(0)
        began = time.perf_counter()
        lengths = await asyncio.gather(*(ask(number) for number in range(requests)))
        return requests * TOKENS / (time.perf_counter() - began), sum(lengths) / requests
