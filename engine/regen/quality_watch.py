"""Watches the shares of flawed answers of each source while a run works."""

import bisect
from collections.abc import Mapping, Sequence

from engine.regen.quality import SourceQuality, too_many
from engine.regen.records import Answer, Extent, Failure, FlawKind


class QualityWatch:
    """Shares are judged on what this worker has seen, so that an operator who resumes a paused run begins anew."""

    def __init__(self, extents: Sequence[Extent], flaws_before: Mapping[str, Mapping[str, int]]) -> None:
        self._firsts = [extent.first for extent in extents]
        self._sources = [SourceQuality(extent.name) for extent in extents]
        self._before = flaws_before

    def add(self, result: Answer | Failure) -> None:
        """Count an outcome."""
        if isinstance(result, Answer):
            self._sources[bisect.bisect_right(self._firsts, result.number) - 1].add(result.flaws)

    def problem(self, pause_at: dict[FlawKind, float]) -> str | None:
        """Why the run should pause."""
        return next((found for source in self._sources if (found := too_many(source, pause_at))), None)

    def all_flaws(self, name: str) -> dict[str, int]:
        """Flawed answers of a source since the run began, by kind."""
        found: dict[str, int] = dict(self._before.get(name, {}))
        for source in self._sources:
            for kind, count in source.flaws.items() if source.name == name else ():
                found[kind] = found.get(kind, 0) + count
        return found
