"""What is known of a set while scouts look at it."""

import msgspec

from engine.data.catalogue.benchmarks import benchmark_of
from engine.data.discovery.hub import Listed
from engine.data.discovery.viewer import Viewed
from engine.data.records import Guess
from engine.data.shapes.recognise import recognise
from state.records.data import Access


class Lead(msgspec.Struct, frozen=True, kw_only=True):
    """A set that a scout has found."""

    listed: Listed
    viewed: Viewed | None = None
    looked: bool = False
    """Whether the viewer was asked; it may have nothing to show."""
    guess: Guess | None = None
    score: float = 0.0
    why: str = ""

    @property
    def id(self) -> str:
        """`owner/name`."""
        return self.listed.id

    @property
    def rows(self) -> int | None:
        """Records, of the split that would be read where that is known."""
        return (self.viewed.rows if self.viewed else None) or self.listed.rows_of_card

    @property
    def access(self) -> Access:
        """What must be done to read it."""
        if self.listed.private:
            return "private"
        gated = {"auto": "terms", "manual": "request", False: "open"}
        return gated.get(self.listed.gated, "unknown")  # type: ignore[return-value]

    @property
    def benchmark(self) -> bool:
        """Whether it is a set to measure with, by name or as its owner tags it."""
        return benchmark_of(self.id) is not None or any(tag.startswith("benchmark:") for tag in self.listed.tags)

    @property
    def usable(self) -> bool:
        """Whether it was seen to hold prompts that may be trained on."""
        return bool(self.guess and self.guess.shape and self.guess.sure) and not self.benchmark


def looked_at(lead: Lead, viewed: Viewed | None) -> Lead:
    """The lead with what the viewer showed."""
    guess = recognise(viewed.first_rows) if viewed and viewed.first_rows else None
    return msgspec.structs.replace(lead, viewed=viewed, looked=True, guess=guess)
