"""CPU of a regeneration's client side for each sample and its memory, beside plain httpx and aiohttp."""

import asyncio
import multiprocessing
import multiprocessing.connection
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import aiohttp
import httpx
from aiohttp import web

from engine.regen.records import Answer, Message
from engine.regen.run import Run
from engine.regen.store import Store
from tests.benchmarks.chat_server import serve_chat
from tests.benchmarks.results import Result
from tests.regen.conftest import completion, make_run

IN_FLIGHT, SAMPLES, PLAIN_SAMPLES = 512, 8000, 1500
MEMORY_SAMPLES, MEMORY_ASKED = (10_000, 100_000, 1_000_000), 5_000
_WORDS = random.Random(1)
ANSWER = " ".join("".join(_WORDS.choices("abcdefghijklmnopqrstuvwxyz", k=5)) for _ in range(660))
"""Of about 4,000 characters; not the same word again and again, for then the run would pause itself."""


def run(report: Callable[[str], None]) -> Iterator[Result]:
    ours, theirs = multiprocessing.Pipe()
    server = multiprocessing.get_context("spawn").Process(target=_serve, args=(theirs,), daemon=True)
    server.start()
    try:
        url = ours.recv()
        with tempfile.TemporaryDirectory() as folder:
            yield Result(
                "Alula's pipeline", f"CPU a sample, {IN_FLIGHT} at once", _pipeline(Path(folder), url), "us", 600
            )
        yield Result("plain httpx, no store", f"CPU a sample, {IN_FLIGHT} at once", _plain(url), "us")
        yield Result("plain aiohttp, no store", f"CPU a sample, {IN_FLIGHT} at once", _plain_aiohttp(url), "us")
        for samples in MEMORY_SAMPLES:
            report(f"memory of a worker with {samples} samples")
            yield Result("Alula's pipeline", f"most memory, {samples:,} samples", _memory_mib(url, samples), "MiB", 150)
    finally:
        server.kill()
        server.join()


def _serve(pipe: multiprocessing.connection.Connection) -> None:
    async def chat(request: web.Request) -> web.Response:
        await request.read()
        await asyncio.sleep(0.3)
        return web.json_response(completion(ANSWER))

    serve_chat(pipe, "scripted", chat)


def _pipeline(folder: Path, url: str) -> float:
    began = time.process_time()
    run_folder, plan = make_run(folder, url, [f"question {number}" for number in range(SAMPLES)], IN_FLIGHT)

    async def work() -> int:
        one = Run(run_folder, plan)
        await one.work(asyncio.Event())
        return one.progress.done

    done = asyncio.run(work())
    if done != SAMPLES:
        raise RuntimeError(f"only {done} of {SAMPLES} samples were answered")
    return (time.process_time() - began) / done * 1e6


def _plain(url: str) -> float:
    async def work() -> None:
        limits, places = httpx.Limits(max_connections=IN_FLIGHT), asyncio.Semaphore(IN_FLIGHT)
        async with httpx.AsyncClient(limits=limits, timeout=120) as client:

            async def ask() -> None:
                async with places:
                    (await client.post(url + "/v1/chat/completions", json={"messages": []})).json()

            await asyncio.gather(*(ask() for _ in range(PLAIN_SAMPLES)))

    began = time.process_time()
    asyncio.run(work())
    return (time.process_time() - began) / PLAIN_SAMPLES * 1e6


def _plain_aiohttp(url: str) -> float:
    async def work() -> None:
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=IN_FLIGHT)) as client:

            async def ask() -> None:
                async with client.post(url + "/v1/chat/completions", json={"messages": []}) as response:
                    await response.json()

            await asyncio.gather(*(ask() for _ in range(SAMPLES)))

    began = time.process_time()
    asyncio.run(work())
    return (time.process_time() - began) / SAMPLES * 1e6


def _memory_mib(url: str, samples: int) -> float:
    """Most memory of a real worker, of which all but some thousand samples are done before."""
    with tempfile.TemporaryDirectory() as folder:
        run_folder, _ = make_run(Path(folder), url, [f"question {number}" for number in range(samples)], IN_FLIGHT)
        store = Store(run_folder)
        store.write([_stored(number) for number in range(1, samples - MEMORY_ASKED + 1)])
        store.close()
        worker = subprocess.Popen(
            [sys.executable, "-m", "engine.regen.worker", str(run_folder)],
            env={**os.environ, "ALULA_HOME": f"{folder}/home"}, stdout=subprocess.DEVNULL,
        )  # fmt: skip
        most_kib, status = 0, Path(f"/proc/{worker.pid}/status")
        while worker.poll() is None:  # wait4 would tell of this process, of which the worker was forked
            most_kib = max([most_kib, *(int(kib) for kib in re.findall(r"VmHWM:\s+(\d+)", status.read_text()))])
            time.sleep(0.02)
        if worker.returncode:
            raise RuntimeError(f"the worker ended with exit code {worker.returncode}")
        return most_kib / 1024


def _stored(number: int) -> Answer:
    return Answer(
        number=number,
        assistants=(Message("assistant", "stored before"),),
        finish_reasons=("stop",),
        prompt_tokens=3,
        completion_tokens=7,
        seconds=0.3,
    )
