"""Tokens a second of the reference server, over HTTP: `python -m tests.benchmarks.reference_throughput`."""

import asyncio
import time

import aiohttp

from engine.reference.checkpoint import shipped_draft, shipped_target
from engine.reference.server import serve_reference
from engine.reference.settings import ServerSettings

PROMPT = 'def read_records(path, encoding=\'utf-8\'):\n    """Return one record for each line of a file."""\n'
TOKENS = 128


async def measure(algorithm: str | None, requests: int) -> str:
    """One line: speed and accept length of `requests` requests at once."""
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
        elapsed_s = time.perf_counter() - began
    rate = requests * TOKENS / elapsed_s
    accept = f", accept length {sum(lengths) / requests:.2f}" if algorithm else ""
    return f"{algorithm or 'baseline':<9} {requests:>3} at once: {rate:7.0f} tokens/s{accept}"


def main() -> None:
    """Print the table."""
    for algorithm in (None, "EAGLE", "EAGLE3"):
        for requests in (1, 8, 32):
            print(asyncio.run(measure(algorithm, requests)))


if __name__ == "__main__":
    main()
