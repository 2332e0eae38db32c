"""Start and end of a reference server, in this process or as the whole of one."""

import asyncio
import contextlib
import errno
import logging
import signal
from collections.abc import AsyncIterator, Callable

from aiohttp import web

from engine.reference.http.application import AccessLog, application
from engine.reference.service import Service
from engine.reference.settings import ServerSettings, SettingsError
from state.version import VERSION

BANNER = (
    f"Alula reference server {VERSION}: a small real model behind SGLang's HTTP surface. "
    "A stand-in for development, demos and tests; it is not SGLang, and its figures say nothing about a GPU."
)

_log = logging.getLogger("alula.reference")


@contextlib.asynccontextmanager
async def serve_reference(settings: ServerSettings) -> AsyncIterator[str]:
    """Serve while the context is open; yields the base URL, for example `http://127.0.0.1:30000`.

    Requests that run when it closes are aborted and answered with status 503. Raises `CheckpointError` or
    `SettingsError` where it cannot start.
    """
    service = await asyncio.to_thread(Service, settings)
    runner = web.AppRunner(
        application(service),
        handler_cancellation=True,
        access_log_class=AccessLog,
        access_log=_log,
        shutdown_timeout=5.0,
    )
    await runner.setup()
    try:
        await _listen(runner, settings)
        service.start()
        address = runner.addresses[0]
        service.port = address[1]
        host = f"[{address[0]}]" if ":" in address[0] else address[0]
        yield f"http://{host}:{address[1]}"
        await service.close()
    finally:
        await runner.cleanup()


async def run_until_signal(settings: ServerSettings, announce: Callable[[str], None]) -> None:
    """Serve until SIGTERM or SIGINT. `announce` is told the base URL once requests are taken."""
    ended = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, ended.set)
    _log.info(BANNER)
    async with serve_reference(settings) as url:
        announce(url)
        _log.info("The server is fired up and ready to roll!")
        await ended.wait()
        _log.info("Signal received: running requests are aborted, the server ends.")


async def _listen(runner: web.AppRunner, settings: ServerSettings) -> None:
    try:
        await web.TCPSite(runner, settings.host, settings.port).start()
    except OSError as error:
        place = f"{settings.host}:{settings.port}"
        if error.errno == errno.EADDRINUSE:
            raise SettingsError(
                f"{place} is in use by another process.", "Give another --port, or 0 for any free one."
            ) from error
        raise SettingsError(f"{place} cannot be opened: {error.strerror}", "Check --host and --port.") from error
