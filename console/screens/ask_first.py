"""What cannot be taken back lightly: say what will happen, ask once, and do it where that is confirmed."""

from collections.abc import Callable, Sequence
from typing import Any

from textual.app import App


def ask_first(
    app: App[Any],
    question: str,
    consequences: Sequence[str],
    then: Callable[[], object],
    *,
    confirm: str,
    refuse: str = "Go on",
    danger: bool = False,
) -> None:
    """Put a question over the screen; `then` is called where it is confirmed. The words are `Confirmation`'s."""
    from widgets.confirmation import Confirmation

    def answered(confirmed: bool | None) -> None:
        if confirmed:
            then()

    app.push_screen(Confirmation(question, list(consequences), confirm=confirm, refuse=refuse, danger=danger), answered)
