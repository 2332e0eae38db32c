"""All routes, and what holds for every one: the API key, errors as JSON, the access log."""

import hmac
import logging
from http import HTTPStatus

from aiohttp import web
from aiohttp.abc import AbstractAccessLogger

from engine.reference.http import generate, information, openai
from engine.reference.http.replies import SERVICE, Handler, json_reply
from engine.reference.service import Service

LARGEST_BODY = 16 * 2**20
OPEN_PATHS = ("/health", "/metrics")
"""Beginnings of paths that need no API key, as in SGLang."""

_log = logging.getLogger("alula.reference")


def application(service: Service) -> web.Application:
    """The aiohttp application of one service."""
    app = web.Application(middlewares=[_errors, _api_key], client_max_size=LARGEST_BODY)
    app[SERVICE] = service
    reads = {
        "/health": information.health,
        "/health_generate": information.health,
        "/model_info": information.model_info,
        "/get_model_info": information.model_info,
        "/server_info": information.server_info,
        "/get_server_info": information.server_info,
        "/v1/models": information.models,
        "/metrics": information.metrics,
        "/flush_cache": information.flush_cache,
    }
    app.add_routes([web.get(path, handler) for path, handler in reads.items()])
    app.add_routes(
        [
            web.post("/flush_cache", information.flush_cache),
            web.post("/generate", generate.generate),
            web.put("/generate", generate.generate),
            web.post("/v1/chat/completions", openai.chat_completions),
            web.post("/v1/completions", openai.completions),
        ]
    )
    return app


class AccessLog(AbstractAccessLogger):
    """One line for each answer, in the shape of SGLang's."""

    def log(self, request: web.BaseRequest, response: web.StreamResponse, time: float) -> None:
        """Write it."""
        peer = request.transport.get_extra_info("peername") if request.transport else None
        source = f"{peer[0]}:{peer[1]}" if peer else "-"
        reason = HTTPStatus(response.status).phrase
        self.logger.info(
            'INFO:     %s - "%s %s HTTP/1.1" %d %s', source, request.method, request.path_qs, response.status, reason
        )


@web.middleware
async def _errors(request: web.Request, handler: Handler) -> web.StreamResponse:
    try:
        return await handler(request)
    except web.HTTPException as error:
        return json_reply({"detail": error.reason}, error.status)
    except ConnectionResetError:
        raise
    except Exception as error:
        _log.exception("A request failed.")
        return json_reply({"error": {"message": f"{type(error).__name__} in the reference server"}}, 500)


@web.middleware
async def _api_key(request: web.Request, handler: Handler) -> web.StreamResponse:
    key = request.app[SERVICE].settings.api_key
    if key is not None and not request.path.startswith(OPEN_PATHS):
        given = request.headers.get("Authorization", "")
        if not hmac.compare_digest(given.encode(), f"Bearer {key}".encode()):
            return json_reply({"error": "Unauthorized"}, 401)
    return await handler(request)
