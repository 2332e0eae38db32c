"""CPU of the load generator for each answer, beside aiohttp, httpx on aiohttp and the openai client, in one run."""

import array
import asyncio
import multiprocessing
import multiprocessing.connection
import resource
import time
from collections.abc import Callable, Iterator
from typing import Any

import aiohttp
import httpx
import msgspec
from httpx_aiohttp import AiohttpTransport

from engine.bench.asking import Asker, Target
from engine.bench.load import LoadEnd, LoadRun
from engine.bench.records import Load, Prompt, RequestRecord, Sampling
from engine.bench.statistics import Percentiles
from engine.bench.wire import Connections, address_of
from tests.benchmarks.results import Result

IN_FLIGHT, ANSWERS, SLOW_ANSWERS = 512, 8000, 1500
ANSWER = "word " * 800
STREAMS, TOKENS, GAP_S = 64, 200, 0.01
PROMPT = "Say something. " * 60


def run(report: Callable[[str], None]) -> Iterator[Result]:
    ours, theirs = multiprocessing.Pipe()
    server = multiprocessing.get_context("spawn").Process(target=_serve, args=(theirs,), daemon=True)
    server.start()
    try:
        url = ours.recv()
        where = f"CPU an answer of 4 KB, {IN_FLIGHT} at once"
        cost, speed = _alula(url)
        yield Result("Alula's load generator", where, cost, "us", 400)
        yield Result("Alula's load generator", "answers a second by one core", 1e6 / cost, "/s")
        yield Result("Alula's load generator", "answers a second, as this server gave them", speed, "/s")
        yield Result("aiohttp alone, parsed", where, _aiohttp(url), "us")
        yield Result("httpx on aiohttp, parsed", where, _httpx(url), "us")
        openai_cost = _openai(url, report)
        if openai_cost is not None:
            yield Result("openai client", where, openai_cost, "us")
        yield from _stream(url)
    finally:
        server.kill()
        server.join()
    yield Result("this process", "most memory", resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, "MiB")


def _alula(url: str) -> tuple[float, float]:
    asked = [Prompt(f"p{number}", (PROMPT,)) for number in range(ANSWERS)]
    end, _ = asyncio.run(_load(url, asked, Load(concurrency=IN_FLIGHT), stream=False))
    return end.client.cpu_s / ANSWERS * 1e6, ANSWERS / end.wall_s


async def _load(url: str, asked: list[Prompt], load: Load, *, stream: bool) -> tuple[LoadEnd, "list[float]"]:
    target = Target(api="chat", model="m", sampling=Sampling(max_tokens=2000), stream=stream)
    gaps = array.array("d")

    def keep(record: RequestRecord, reading: Any) -> None:
        assert record.failure is None, record.message
        if stream:
            times = [at for at, _ in reading.arrivals]
            gaps.extend(times[place] - times[0] - place * GAP_S for place in range(1, len(times)))

    one = Asker(Connections(address_of(url)), target, None)
    end = await LoadRun(one, load, asked, keep).run(asyncio.Event())
    one.close()
    return end, list(gaps)


def _stream(url: str) -> Iterator[Result]:
    """Pieces leave on a fixed beat: how far their arrivals stray from it, after 200 of them."""
    asked = [Prompt(f"p{number}", (PROMPT,)) for number in range(STREAMS * 4)]
    end, strays = asyncio.run(_load(url, asked, Load(concurrency=STREAMS), stream=True))
    found = Percentiles(1 << 20)
    for stray in strays:
        found.add(abs(stray))
    what = f"{STREAMS} streams of {TOKENS} tokens"
    yield Result("Alula's load generator", f"{what}: stray p50", (found.at(50) or 0) * 1000, "ms")
    yield Result("Alula's load generator", f"{what}: stray p99", (found.at(99) or 0) * 1000, "ms")
    yield Result("Alula's load generator", f"{what}: CPU a token", end.client.cpu_s / len(strays) * 1e6, "us")


def _aiohttp(url: str) -> float:
    async def work() -> None:
        body = msgspec.json.encode(_body())
        places = asyncio.Semaphore(IN_FLIGHT)
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=IN_FLIGHT)) as client:

            async def ask() -> None:
                async with places, client.post(url + "/v1/chat/completions", data=body) as response:
                    msgspec.json.decode(await response.read())

            await asyncio.gather(*(ask() for _ in range(ANSWERS)))

    return _cpu_us(work, ANSWERS)


def _httpx(url: str) -> float:
    async def work() -> None:
        limits, places = httpx.Limits(max_connections=IN_FLIGHT), asyncio.Semaphore(IN_FLIGHT)
        async with httpx.AsyncClient(transport=AiohttpTransport(limits=limits), timeout=120) as client:

            async def ask() -> None:
                async with places:
                    (await client.post(url + "/v1/chat/completions", json=_body())).json()

            await asyncio.gather(*(ask() for _ in range(SLOW_ANSWERS * 2)))

    return _cpu_us(work, SLOW_ANSWERS * 2)


def _openai(url: str, report: Callable[[str], None]) -> float | None:
    try:
        import openai
    except ImportError:
        report("the openai client is not installed (pip install openai): its row is left out")
        return None

    async def work() -> None:
        places = asyncio.Semaphore(IN_FLIGHT)
        async with openai.AsyncOpenAI(base_url=url + "/v1", api_key="none", timeout=120) as client:

            async def ask() -> None:
                async with places:
                    messages: Any = [{"role": "user", "content": PROMPT}]
                    await client.chat.completions.create(model="m", messages=messages)

            await asyncio.gather(*(ask() for _ in range(SLOW_ANSWERS)))

    return _cpu_us(work, SLOW_ANSWERS)


def _cpu_us(work: Callable[[], Any], answers: int) -> float:
    began = time.process_time()
    asyncio.run(work())
    return (time.process_time() - began) / answers * 1e6


def _body() -> dict[str, Any]:
    return {"model": "m", "messages": [{"role": "user", "content": PROMPT}], "max_tokens": 2000}


class _Speaker(asyncio.Protocol):
    """Answers each request with the same bytes, or with pieces on a beat, at as little CPU as can be."""

    WHOLE = msgspec.json.encode(
        {
            "id": "x", "object": "chat.completion", "model": "m", "created": 1,
            "choices": [{"index": 0, "message": {"role": "assistant", "content": ANSWER}, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 3, "completion_tokens": 800, "total_tokens": 803},
        }
    )  # fmt: skip
    HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(WHOLE)
    STREAM = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport: Any = transport
        self.seen = b""

    def data_received(self, data: bytes) -> None:
        self.seen += data
        head, found, rest = self.seen.partition(b"\r\n\r\n")
        size = next((int(line[15:]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")), 0)
        if not found or len(rest) < size:
            return
        self.seen = b""
        if b'"stream":true' in rest:
            self.speaking = asyncio.ensure_future(self.speak())
        else:
            self.transport.write(self.HEAD + self.WHOLE)

    async def speak(self) -> None:
        loop = asyncio.get_running_loop()
        self.transport.write(self.STREAM)
        began = loop.time()
        for number in range(TOKENS):
            await asyncio.sleep(max(0.0, began + number * GAP_S - loop.time()))
            finish = '"length"' if number == TOKENS - 1 else "null"
            self.piece(b'{"choices":[{"delta":{"content":"w"},"finish_reason":%s}]}' % finish.encode())
        self.piece(b"[DONE]")
        self.transport.write(b"0\r\n\r\n")

    def piece(self, content: bytes) -> None:
        event = b"data: " + content + b"\n\n"
        self.transport.write(b"%x\r\n" % len(event) + event + b"\r\n")


def _serve(pipe: multiprocessing.connection.Connection) -> None:
    async def serve() -> None:
        server = await asyncio.get_running_loop().create_server(_Speaker, "127.0.0.1", 0, backlog=2048)
        pipe.send(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}")
        await asyncio.Event().wait()

    asyncio.run(serve())
