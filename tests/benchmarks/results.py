"""What a benchmark found, and how it is printed."""

import msgspec


class Result(msgspec.Struct, frozen=True):
    """One figure. `target` is the most that docs/benchmarks.md allows."""

    subject: str
    what: str
    value: float
    unit: str
    target: float | None = None

    def line(self) -> str:
        goal = ""
        if self.target is not None:
            goal = f"   goal {self.target:g}: {'met' if self.value <= self.target else 'NOT met'}"
        return f"  {self.subject:<34} {self.what:<22} {self.value:>10.4g} {self.unit:<6}{goal}"


class Skipped(Exception):
    """A benchmark, or one subject of it, cannot run here; the text says why."""
