"""Who a server is, from what it says of itself. Endpoints: sglang 0.4.6 to 0.5.23, entrypoints/http_server.py; vllm
0.33.0, entrypoints/openai/api_server.py."""

from collections.abc import Mapping
from typing import Any

import httpx
import msgspec

from engine.watch.server_client import fetch, json_object
from state.outside_text import plain_line

_INFO_PATHS = ("/server_info", "/get_server_info")
_FLAGS = (
    "model_path", "served_model_name", "dtype", "quantization", "kv_cache_dtype", "tp_size", "dp_size", "pp_size",
    "ep_size", "max_running_requests", "max_total_num_tokens", "mem_fraction_static", "context_length", "page_size",
    "attention_backend", "disable_cuda_graph", "disable_overlap_schedule", "disable_radix_cache",
    "chunked_prefill_size", "schedule_policy", "random_seed", "speculative_algorithm", "speculative_draft_model_path",
    "speculative_num_steps", "speculative_eagle_topk", "speculative_num_draft_tokens", "speculative_token_map",
)  # fmt: skip
_VALUE_LIMIT = 500


class Identity(msgspec.Struct, frozen=True, kw_only=True):
    """What a server says of itself. All but `framework` may be unknown."""

    framework: str
    version: str | None = None
    model: str | None = None
    draft_model: str | None = None
    speculative_algorithm: str | None = None
    flags: Mapping[str, Any] = {}
    mean_accept_length: float | None = None
    """Over the server's whole life."""
    last_tokens_per_s: float | None = None


class Unreadable(Exception):
    """Something answers that is no server of a known kind, or does not let itself be read."""


async def identify(
    client: httpx.AsyncClient, url: str, paths: dict[str, str], headers: Mapping[str, str] | None = None
) -> Identity:
    """Ask a server who it is.

    Args:
        client: From `open_client`.
        url: The server's.
        paths: Remembers between calls which path of this server answered: SGLang logs a warning at each use of an
            old one.
        headers: For a server that wants a key.

    Raises:
        NoAnswer: Nothing came back.
        Unreadable: What came back is not SGLang's or vLLM's.
    """
    refusals = []
    for path in (paths["info"],) if "info" in paths else _INFO_PATHS:
        answer = await fetch(client, url + path, headers=headers)
        info = json_object(answer)
        if info is not None and ("model_path" in info or "internal_states" in info):
            paths["info"] = path
            return sglang_identity(info)
        refusals.append(answer.status)
    paths.pop("info", None)
    version = json_object(await fetch(client, url + "/version", headers=headers))
    if version is not None and "version" in version:
        models = json_object(await fetch(client, url + "/v1/models", headers=headers))
        return vllm_identity(version, models or {})
    raise Unreadable(_refusal(refusals))


def sglang_identity(info: Mapping[str, Any]) -> Identity:
    """From `/server_info`. Keys come and go between releases; none is relied on."""
    stated = info.get("internal_states")
    states = [state for state in stated if isinstance(state, dict)] if isinstance(stated, list) else []
    version = _text(info.get("version"))
    stand_in = "alula" in f"{version} {info.get('framework')}".lower()
    return Identity(
        framework="alula-reference" if stand_in else "sglang",
        version=version,
        model=_text(info.get("served_model_name") or info.get("model_path")),
        draft_model=_text(info.get("speculative_draft_model_path")),
        speculative_algorithm=_text(info.get("speculative_algorithm")),
        flags={name: _bounded(info[name]) for name in _FLAGS if info.get(name) is not None},
        mean_accept_length=_mean(states, "avg_spec_accept_length"),
        last_tokens_per_s=_sum(states, "last_gen_throughput"),
    )


def vllm_identity(version: Mapping[str, Any], models: Mapping[str, Any]) -> Identity:
    """From `/version` and `/v1/models`."""
    data = models.get("data")
    first = data[0] if isinstance(data, list) and data and isinstance(data[0], dict) else {}
    limit = first.get("max_model_len")
    return Identity(
        framework="vllm",
        version=_text(version["version"]),
        model=_text(first.get("id")),
        flags={"max_model_len": limit} if isinstance(limit, int) else {},
    )


def _refusal(statuses: list[int]) -> str:
    if 401 in statuses or 403 in statuses:
        return "it wants an API key: name its variable in settings.toml, [watch.api_keys]"
    if 503 in statuses:
        return "it answers 503: not ready"
    return f"it answers, but not as SGLang or vLLM do (/server_info: {statuses[0]})"


def _text(value: object) -> str | None:
    return None if value in (None, "") else plain_line(str(value), _VALUE_LIMIT)


def _bounded(value: object) -> object:
    return value if isinstance(value, (bool, int, float)) else plain_line(str(value), _VALUE_LIMIT)


def _numbers(states: list[dict[str, Any]], name: str) -> list[float]:
    return [float(state[name]) for state in states if isinstance(state.get(name), (int, float))]


def _mean(states: list[dict[str, Any]], name: str) -> float | None:
    values = _numbers(states, name)
    return sum(values) / len(values) if values else None


def _sum(states: list[dict[str, Any]], name: str) -> float | None:
    values = _numbers(states, name)
    return sum(values) if values else None
