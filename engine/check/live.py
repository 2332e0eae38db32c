"""What a running server says of itself, read with bounds on time and size, without redirects.

Paths: `/server_info` and `/model_info` from 0.5.6 on; the older `/get_...` names are asked only after a 404, since
newer servers log a warning for each use of them (sglang 0.5.23, srt/entrypoints/http_server.py).
"""

from typing import TYPE_CHECKING, Any

import msgspec

from engine.check.records import LiveServer
from state.secret_words import shown_text

if TYPE_CHECKING:
    import httpx

DEFAULT_TIMEOUT_S = 5.0
KNOWN_KEYS = {"model_path", "tokenizer_path", "internal_states", "speculative_algorithm", "max_total_num_tokens"}


class Unanswered(Exception):
    """A request that gave nothing usable; the text says what came back."""

    def __init__(self, message: str, status: int | None = None) -> None:
        super().__init__(shown_text(message))
        self.status = status


def read_server(url: str, timeout_s: float = DEFAULT_TIMEOUT_S, api_key: str | None = None) -> LiveServer:
    """Ask one server; what cannot be had is told in `problem`, never raised."""
    import asyncio

    return asyncio.run(ask_server(url, timeout_s, api_key))


async def ask_server(url: str, timeout_s: float = DEFAULT_TIMEOUT_S, api_key: str | None = None) -> LiveServer:
    """Ask one server, each of its pages for at most `timeout_s`."""
    import asyncio

    base = normal_url(url)
    async with open_client(api_key) as client:
        information, model, metrics = await asyncio.gather(
            _first_object(client, base, ("/server_info", "/get_server_info"), timeout_s),
            _first_object(client, base, ("/model_info", "/get_model_info"), timeout_s),
            _page(client, f"{base}/metrics", timeout_s),
            return_exceptions=True,
        )
    if isinstance(information, Unanswered):
        return LiveServer(url=shown_text(base), problem=str(information))
    if isinstance(information, BaseException):
        raise information
    if not KNOWN_KEYS & information.keys():
        return LiveServer(
            url=shown_text(base), problem=f"{shown_text(base)}/server_info answers, but not as SGLang does"
        )
    text = metrics.decode(errors="replace") if isinstance(metrics, bytes) else None
    return LiveServer(
        url=shown_text(base),
        server_info=information,
        model_info=model if isinstance(model, dict) else None,
        metrics=text,
        verifications=_verifications(text),
    )


def open_client(api_key: str | None = None) -> "httpx.AsyncClient":
    """A client that follows no redirect and uses no proxy; the caller sets the time of each request."""
    import httpx

    from engine.watch.server_client import UNCOMPRESSED, authorized

    headers = {**UNCOMPRESSED, **authorized(api_key)}
    return httpx.AsyncClient(timeout=None, trust_env=False, follow_redirects=False, headers=headers)


def normal_url(url: str) -> str:
    """The base address: `http://` where no scheme is given, no trailing slash."""
    text = url.strip().rstrip("/")
    return text if "://" in text else f"http://{text}"


def accept_length(live: LiveServer) -> float | None:
    """Mean accept length over the data-parallel ranks that report one."""
    states = (live.server_info or {}).get("internal_states")
    if not isinstance(states, list):
        return None
    found = [state.get("avg_spec_accept_length") for state in states if isinstance(state, dict)]
    numbers = [float(value) for value in found if isinstance(value, int | float) and not isinstance(value, bool)]
    return sum(numbers) / len(numbers) if numbers else None


def release_of(live: LiveServer) -> str | None:
    """The SGLang release that the server states; a stand-in, such as the reference server, states none."""
    version = (live.server_info or {}).get("version")
    return version if isinstance(version, str) and version[:1].isdigit() else None


async def _page(client: "httpx.AsyncClient", url: str, timeout_s: float) -> bytes:
    """The body of one page; raises `Unanswered`."""
    from engine.watch.server_client import NoAnswer, fetch

    try:
        answer = await fetch(client, url, timeout_s)
    except NoAnswer as error:
        raise Unanswered(f"{url}: {error}") from None
    refuse_status(url, answer.status)
    return answer.body


def refuse_status(url: str, status: int) -> None:
    """Raise `Unanswered` for any status but 200."""
    if status in (401, 403):
        raise Unanswered(f"{url} asks for an API key (status {status}): name its variable with --api-key-env", status)
    if 300 <= status < 400:
        raise Unanswered(f"{url} redirects to another address, which is not followed (status {status})", status)
    if status != 200:
        raise Unanswered(f"{url} answers with status {status}", status)


async def _first_object(
    client: "httpx.AsyncClient", base: str, paths: tuple[str, str], timeout_s: float
) -> dict[str, Any]:
    """The JSON object of the first path, of the second one where the first is not found."""
    try:
        path, answer = paths[0], await _page(client, base + paths[0], timeout_s)
    except Unanswered as error:
        if error.status != 404:
            raise
        path, answer = paths[1], await _page(client, base + paths[1], timeout_s)
    try:
        decoded = msgspec.json.decode(answer)
    except (msgspec.DecodeError, RecursionError):
        raise Unanswered(f"{base}{path} answers, but not with JSON: this is no SGLang server") from None
    if not isinstance(decoded, dict):
        raise Unanswered(f"{base}{path} answers, but not with an object: this is no SGLang server")
    return decoded


def _verifications(metrics: str | None) -> int | None:
    """Sum of the counter `sglang:spec_verify_calls_total` (0.5.16 and later) over the ranks."""
    total = None
    for line in (metrics or "").splitlines():
        if line.startswith("sglang:spec_verify_calls_total"):
            try:
                total = (total or 0) + int(float(line.rsplit(" ", 1)[-1]))
            except (ValueError, OverflowError):
                continue
    return total
