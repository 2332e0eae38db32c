"""One key after the other: where a key moves the focus, the next one already goes to the new place."""

import time
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Any

from textual import events
from textual.app import App
from textual.dom import DOMNode
from textual.widgets import Input

LIMIT_S = 1.0
"""A key that is not done by then, because what it went to is gone, holds up the next one no longer."""

Typed = events.Key | events.Paste


class KeyOrder:
    """Holds back keys and pastes until the one before has gone from the focus up to the app, where bindings act.

    Without it (Textual 8.2.8, app.py `on_event`) keys that arrive together all go to what had the focus before the
    first of them: of `/x`, pasted or typed over a slow line, `x` would act on the table.
    """

    def __init__(self, app: App[Any], deliver: Callable[[events.Event], Awaitable[None]]) -> None:
        self._app = app
        self._deliver = deliver
        self._waiting: deque[Typed] = deque()
        self._since: float | None = None

    async def take(self, event: Typed) -> None:
        """Deliver it now, or when its turn comes."""
        self._waiting.append(event)
        if self._since is None or time.monotonic() - self._since > LIMIT_S:
            await self._next()

    async def _next(self) -> None:
        self._since = None
        while self._waiting and self._since is None and self._app.screen_stack:
            event, target = self._waiting.popleft(), self._app.focused or self._app.screen
            if not _stays_in(target, event):
                self._since = time.monotonic()
            await self._deliver(event)
        if self._since is not None:
            self._follow(target)

    def _follow(self, node: DOMNode | None) -> None:
        """Behind the key, through each queue that it bubbles through."""
        if node is None or node is self._app or not node.call_later(self._follow, node.parent):
            self._app.call_later(self._next)


def _stays_in(target: DOMNode, event: Typed) -> bool:
    """Whether it is a letter typed into an entry, which moves nothing: a long text need not go letter by letter."""
    return isinstance(target, Input) and isinstance(event, events.Key) and event.is_printable
