"""Errors of the program itself while it works on answers: one costs a sample, many pause the run."""

import logging

from engine.regen.records import Failure
from engine.regen.wire import LONGEST_MESSAGE, describe
from state.outside_text import plain_line

MOST, SHARE = 20, 0.01
"""More than so many, and more than this share of what was asked, are no matter of single answers."""

log = logging.getLogger(__name__)


class Stumbles:
    """Counts those of one pass."""

    def __init__(self) -> None:
        self._asked = self._stumbled = 0

    def went_well(self) -> None:
        """A sample has its outcome, whatever that is, without such an error."""
        self._asked += 1

    def failure(self, number: int, error: Exception) -> Failure:
        """The outcome of a sample that brought one out."""
        self._asked += 1
        self._stumbled += 1
        if self._stumbled <= MOST:
            log.error("sample %d: an error of the program itself", number, exc_info=error)
        message = plain_line(describe(error), LONGEST_MESSAGE)
        return Failure(number=number, kind="program_error", message=message, tries=1)

    def problem(self) -> str | None:
        """Why the run should pause."""
        if self._stumbled <= MOST or self._stumbled <= SHARE * self._asked:
            return None
        return f"{self._stumbled} of {self._asked} samples failed by errors of Alula itself"
