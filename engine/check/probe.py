"""Asks a running server a few short prompts and measures what speculation gives there.

Accept length of a request is `completion_tokens / spec_verify_ct` (all releases; sglang 0.5.23 reports the same as
`spec_accept_length`), so the prefill's first token counts too and short answers read slightly high.
"""

import asyncio
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from engine.check.live import Unanswered, ask_server, normal_url, open_client, refuse_status, release_of
from engine.check.records import LiveServer

if TYPE_CHECKING:
    import httpx

PROMPTS = (
    "Explain in three sentences why the sky is blue.",
    "Write a Python function that returns the n-th Fibonacci number.",
    "List five fruits and one use of each.",
    "A train leaves at 9:40 and arrives at 13:05. How long is the journey? Show the steps.",
    "Translate into French: The meeting is moved to Thursday at ten.",
    "Summarise in two sentences how a refrigerator works.",
    "Write a short SQL query that counts the orders of each customer.",
    "Name the planets in order from the sun, with one fact about each.",
)
MAX_BYTES = 32 * 1024 * 1024
REQUEST_TIMEOUT_S = 120.0


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """What one prompt gave."""

    prompt: str
    completion_tokens: int | None = None
    verifications: int | None = None
    accept_length: float | None = None
    wall_s: float | None = None
    tokens_per_s: float | None = None
    problem: str | None = None


class Probe(msgspec.Struct, frozen=True, kw_only=True):
    """What a server gave in all."""

    url: str
    release: str | None = None
    algorithm: str | None = None
    requests: tuple[Request, ...] = ()
    accept_length: float | None = None
    """Tokens over verifications, all requests together."""
    tokens_per_s: float | None = None
    """One request at a time."""
    hidden_width: int | None = None
    expected_hidden_widths: tuple[int, ...] = ()
    """By the target's configuration; empty where that does not lie on this machine."""
    hidden_note: str | None = None
    """Why no width was measured."""
    problem: str | None = None


def probe(url: str, prompts: int, max_tokens: int, api_key: str | None = None) -> tuple[Probe, LiveServer]:
    """Ask `prompts` prompts, one after another, up to `max_tokens` tokens each."""
    return asyncio.run(_probe(url, prompts, max_tokens, api_key))


async def _probe(url: str, prompts: int, max_tokens: int, api_key: str | None) -> tuple[Probe, LiveServer]:
    live = await ask_server(url, api_key=api_key)
    if live.problem is not None:
        return Probe(url=live.url, problem=live.problem), live
    information: Mapping[str, Any] = live.server_info or {}
    base = normal_url(url)
    async with open_client(api_key) as client:
        chosen = [PROMPTS[index % len(PROMPTS)] for index in range(prompts)]
        requests = [await _ask(client, base, prompt, max_tokens) for prompt in chosen]
        width, note = await _hidden_width(client, base, information)
    algorithm = information.get("speculative_algorithm")
    result = Probe(
        url=live.url,
        release=release_of(live),
        algorithm=algorithm if isinstance(algorithm, str) else None,
        requests=tuple(requests),
        accept_length=_overall(requests),
        tokens_per_s=_speed(requests),
        hidden_width=width,
        expected_hidden_widths=expected_widths(live),
        hidden_note=note,
        problem=None if any(request.problem is None for request in requests) else requests[0].problem,
    )
    return result, msgspec.structs.replace(live, hidden_width=width)


def expected_widths(live: LiveServer) -> tuple[int, ...]:
    """Final states, and under EAGLE3 the captured ones, by the target's configuration if that lies on this machine.

    SGLang 0.5.17 returned the captured states on an H200, other releases return the final ones.
    """
    from engine.check.deployment import assemble
    from engine.check.facts.deployment import Facts

    facts = Facts(assemble(None, live=live))
    widths = (facts.target.hidden_size, facts.handed_width)
    return tuple(dict.fromkeys(width for width in widths if width is not None))


async def _ask(client: "httpx.AsyncClient", url: str, prompt: str, max_tokens: int) -> Request:
    started = time.monotonic()
    body = {"text": prompt, "sampling_params": {"temperature": 0, "max_new_tokens": max_tokens}}
    try:
        answer = await _post(client, f"{url}/generate", body)
    except Unanswered as error:
        return Request(prompt=prompt, problem=str(error))
    wall_s = time.monotonic() - started
    details = answer.get("meta_info")
    if not isinstance(details, dict):
        return Request(prompt=prompt, problem=f"{url}/generate answers without meta_info")
    tokens, verifications = _count(details, "completion_tokens"), _count(details, "spec_verify_ct")
    return Request(
        prompt=prompt,
        completion_tokens=tokens,
        verifications=verifications,
        accept_length=tokens / verifications if tokens is not None and verifications else None,
        wall_s=wall_s,
        tokens_per_s=tokens / wall_s if tokens is not None and wall_s > 0 else None,
    )


async def _hidden_width(
    client: "httpx.AsyncClient", url: str, information: Mapping[str, Any]
) -> tuple[int | None, str | None]:
    allowed = information.get("enable_return_hidden_states") or information.get("return_hidden_states_mode")
    if not allowed:
        return None, "the server was started without --enable-return-hidden-states"
    body = {
        "text": "Hello",
        "sampling_params": {"temperature": 0, "max_new_tokens": 1},
        "return_hidden_states": True,
    }
    try:
        details = (await _post(client, f"{url}/generate", body)).get("meta_info")
    except Unanswered as error:
        return None, str(error)
    width = width_of(details.get("hidden_states") if isinstance(details, dict) else None)
    return width, None if width is not None else "the answer holds no hidden states"


def width_of(states: object) -> int | None:
    """Length of the innermost list of numbers in nested lists."""
    for _ in range(6):
        if not isinstance(states, list) or not states:
            return None
        if isinstance(states[0], int | float):
            return len(states)
        states = states[0]
    return None


async def _post(client: "httpx.AsyncClient", url: str, body: Mapping[str, Any]) -> dict[str, Any]:
    """One JSON answer, bounded in time and size; raises `Unanswered`."""
    import httpx

    from engine.watch.server_client import NoAnswer, read_body

    try:
        async with asyncio.timeout(REQUEST_TIMEOUT_S), client.stream("POST", url, json=body) as response:
            received = await read_body(response, MAX_BYTES)
            refuse_status(url, response.status_code)
    except NoAnswer as error:
        raise Unanswered(f"{url}: {error}") from None
    except TimeoutError:
        raise Unanswered(f"{url} did not answer within {REQUEST_TIMEOUT_S:.0f} s") from None
    except (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError, ValueError) as error:
        raise Unanswered(f"{url} cannot be reached: {error or type(error).__name__}") from None
    try:
        decoded = msgspec.json.decode(received)
    except (msgspec.DecodeError, RecursionError):
        raise Unanswered(f"{url} does not answer with JSON") from None
    if not isinstance(decoded, dict):
        raise Unanswered(f"{url} does not answer with an object")
    return decoded


def _count(details: Mapping[str, Any], name: str) -> int | None:
    value = details.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _overall(requests: Sequence[Request]) -> float | None:
    pairs = [(r.completion_tokens, r.verifications) for r in requests if r.completion_tokens and r.verifications]
    verifications = sum(verified for _, verified in pairs)
    return sum(tokens for tokens, _ in pairs) / verifications if verifications else None


def _speed(requests: Sequence[Request]) -> float | None:
    pairs = [(r.completion_tokens, r.wall_s) for r in requests if r.completion_tokens and r.wall_s]
    wall_s = sum(seconds for _, seconds in pairs)
    return sum(tokens for tokens, _ in pairs) / wall_s if wall_s else None
