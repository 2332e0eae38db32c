"""The one error of this package."""


class StateError(Exception):
    """The state cannot be used. The message says what and where; `remedy` says what to do."""

    def __init__(self, message: str, remedy: str) -> None:
        super().__init__(message)
        self.remedy = remedy
