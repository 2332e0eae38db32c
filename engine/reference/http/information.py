"""What the server says of itself: health, model, arguments, metrics."""

import asyncio
from typing import Any

import msgspec
from aiohttp import web

from engine.reference.answer import Refusal
from engine.reference.checkpoint import TARGET_CLASS
from engine.reference.http.replies import SERVICE, json_reply
from engine.reference.sampling import SamplingSettings
from engine.reference.service import Order, Service
from state.version import VERSION

STALLED_S = 20.0
"""A decoding step older than this, with work at hand, means that the server hangs."""
RESERVED_TOKENS = 6
"""By which SGLang's `max_req_input_len` stays under the context length."""


async def health(request: web.Request) -> web.Response:
    """200 where a token can be generated, 503 otherwise. A busy server is judged by its own progress."""
    service = request.app[SERVICE]
    if not service.thread.healthy:
        return web.Response(status=503)
    if service.thread.busy:
        return web.Response(status=200 if service.thread.seconds_since_step < STALLED_S else 503)
    order = Order(prompt=[0], settings=SamplingSettings(max_new_tokens=1, temperature=0.0), recorded=False)
    try:
        await asyncio.wait_for(service.answers([order])[0].whole(), STALLED_S)
    except (Refusal, TimeoutError):
        return web.Response(status=503)
    return web.Response(status=200)


async def model_info(request: web.Request) -> web.Response:
    """The target. Nothing is said of a draft, as in SGLang."""
    service = request.app[SERVICE]
    path = str(service.settings.model_path)
    return json_reply(
        {
            "model_path": path,
            "served_model_name": service.settings.model_name,
            "tokenizer_path": path,
            "is_generation": True,
            "preferred_sampling_params": None,
            "weight_version": "default",
            "load_format": "auto",
            "reasoning_parser": None,
            "tool_call_parser": None,
            "disaggregation_mode": "null",
            "has_image_understanding": False,
            "has_audio_understanding": False,
            "model_type": service.loaded.config.model_type,
            "architectures": [TARGET_CLASS],
        }
    )


async def server_info(request: web.Request) -> web.Response:
    """Resolved arguments, and the live state of the one rank."""
    service = request.app[SERVICE]
    arguments = _arguments(service)
    return json_reply(
        arguments
        | {
            "status": "ready",
            "max_total_num_tokens": service.settings.max_running_requests * service.loaded.context_length,
            "max_req_input_len": service.loaded.context_length - RESERVED_TOKENS,
            "startup_time": {"load_weight": service.loaded.elapsed_s},
            "internal_states": [arguments | _live_state(service)],
            "version": f"alula-reference {VERSION}",
            "kv_events": None,
            "frontend": "python",
        }
    )


async def models(request: web.Request) -> web.Response:
    """OpenAI's list of models."""
    service = request.app[SERVICE]
    card = {
        "id": service.settings.model_name,
        "object": "model",
        "created": int(service.started_at),
        "owned_by": "alula-reference",
        "root": service.settings.model_name,
        "parent": None,
        "max_model_len": service.loaded.context_length,
    }
    return json_reply({"object": "list", "data": [card]})


async def metrics(request: web.Request) -> web.Response:
    """Prometheus text."""
    text = request.app[SERVICE].figures.text()
    return web.Response(body=text, headers={"Content-Type": "text/plain; version=0.0.4; charset=utf-8"})


async def flush_cache(request: web.Request) -> web.Response:
    """There is no prefix cache; the lifetime averages start anew, as in SGLang. Refused while requests run."""
    service = request.app[SERVICE]
    if service.thread.busy:
        return web.Response(text="Flush cache failed.\n", status=400)
    service.figures.clear()
    return web.Response(
        text="Cache flushed.\nPlease check backend logs for more details. "
        "(When there are running or waiting requests, the operation will not be performed.)\n"
    )


def _arguments(service: Service) -> dict[str, Any]:
    settings, speculation = service.settings, service.loaded.speculation
    given: dict[str, Any] = msgspec.to_builtins(settings, enc_hook=str)
    given.pop("api_key")
    return given | {
        "port": service.port,
        "tokenizer_path": str(settings.model_path),
        "served_model_name": settings.model_name,
        "dtype": "float32",
        "quantization": None,
        "device": "cpu",
        "attention_backend": "numpy",
        "page_size": 1,
        "tp_size": 1,
        "dp_size": 1,
        "pp_size": 1,
        "disable_cuda_graph": True,
        "disable_radix_cache": True,
        "enable_metrics": True,
        "speculative_algorithm": speculation.algorithm if speculation else None,
        "speculative_draft_model_path": str(speculation.draft_path) if speculation else None,
        "speculative_draft_model_revision": None,
        "speculative_num_steps": speculation.num_steps if speculation else None,
        "speculative_eagle_topk": 1 if speculation else None,
        "speculative_num_draft_tokens": speculation.num_draft_tokens if speculation else None,
        "speculative_accept_threshold_single": 1.0,
        "speculative_accept_threshold_acc": 1.0,
    }


def _live_state(service: Service) -> dict[str, Any]:
    average = service.figures.average_accept_length
    live: dict[str, Any] = {
        "last_gen_throughput": service.figures.last_throughput,
        "effective_max_running_requests_per_dp": service.settings.max_running_requests,
    }
    return live if average is None else live | {"avg_spec_accept_length": average}
