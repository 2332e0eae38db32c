"""Errors of the readers: what could not be read, where, and why."""

from engine.check.records import Place


class SourceUnreadable(Exception):
    """A launch source that cannot be checked."""

    empty = False
    """Whether it was read, and has nothing in it that a check is for."""

    def __init__(self, message: str, place: Place, remedy: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.place = place
        self.remedy = remedy

    def __str__(self) -> str:
        at = "".join(f":{part}" for part in (self.place.line, self.place.column) if part is not None)
        return f"{self.place.source}{at}: {self.message}"


class NoServer(SourceUnreadable):
    """A source without a word of a server: `docker compose up`, `kubectl apply`."""

    empty = True
