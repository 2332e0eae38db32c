"""One request in flight, seen from the event loop."""

import asyncio
from collections.abc import AsyncIterator

from engine.reference.requests import Finish, Request, Update
from engine.reference.vocabulary import TextStream


class Refusal(Exception):
    """A request that is not served: HTTP status, message, and the field at fault where one is."""

    def __init__(self, message: str, status: int = 400, field: str | None = None) -> None:
        super().__init__(message)
        self.status, self.field = status, field


class Answer:
    """The text, tokens and end of one request as they come."""

    def __init__(self, request: Request, updates: "asyncio.Queue[Update]", stream: TextStream) -> None:
        self.request, self._updates, self._stream = request, updates, stream
        self.text = ""
        self.tokens: list[int] = []
        self.finish: Finish | None = None

    async def pieces(self) -> AsyncIterator[str]:
        """Text as it comes, the last piece when `finish` is set. Raises `Refusal` where the server gives up."""
        try:
            while self.finish is None:
                update = await self._updates.get()
                self.tokens += update.tokens
                piece = self._stream.fresh(update.tokens)
                if update.finish is not None:
                    if update.finish.type == "abort":
                        raise Refusal(update.finish.message or "The request was aborted.", 503)
                    piece += self._stream.rest(self._stop_string(update.finish))
                self.text += piece
                self.finish = update.finish
                yield piece
        finally:
            self.request.aborted = self.request.aborted or self.finish is None

    async def whole(self) -> str:
        """The finished text."""
        async for _ in self.pieces():
            pass
        return self.text

    def _stop_string(self, finish: Finish) -> str | None:
        keep = self.request.settings.keep_stop
        return finish.matched if isinstance(finish.matched, str) and not keep else None
