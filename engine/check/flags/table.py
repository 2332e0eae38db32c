"""Flag tables of the SGLang releases, extracted from the published wheels by `engine.check.flags.extract`."""

import functools
from pathlib import Path
from typing import Any, Literal

import msgspec

DATA = Path(__file__).parent / "data" / "sglang.json"

Action = Literal[
    "store", "store_true", "store_false", "store_const", "append", "boolean_optional", "help", "removed", "ignored"
]


class Flag(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One `add_argument` call, as argparse would see it."""

    dest: str
    options: tuple[str, ...]
    action: Action = "store"
    type: str = "str"
    """Name of the converter: `str`, `int`, `float`, `nullable_str`, `json.loads`, ..."""
    choices: tuple[str | int | float, ...] | None = None
    """`None` also where the choices are made at run time."""
    nargs: str | int | None = None
    default: Any = None
    const: Any = None
    required: bool = False
    successor: str | None = None
    """What SGLang's own deprecation message names instead."""

    @property
    def takes_no_value(self) -> bool:
        """Whether the flag stands alone."""
        return self.action not in ("store", "append") and not (self.action == "store_const" and self.nargs == "1")

    def spellings(self) -> tuple[str, ...]:
        """All spellings that argparse accepts exactly."""
        if self.action != "boolean_optional":
            return self.options
        return (*self.options, *(f"--no-{o[2:]}" for o in self.options if o.startswith("--")))


class ReleaseRange(Flag, frozen=True, kw_only=True, omit_defaults=True):
    """A flag with the releases that have it in this form: index pairs into `Tables.releases`, both included."""

    runs: tuple[tuple[int, int], ...]

    def holds(self, index: int) -> bool:
        """Whether the release at this index has the flag in this form."""
        return any(first <= index <= last for first, last in self.runs)


class Tables(msgspec.Struct, frozen=True):
    """All releases at once: each distinct form of a flag stands once."""

    releases: tuple[str, ...]
    """Oldest first."""
    flags: tuple[ReleaseRange, ...]


class FlagTable(msgspec.Struct, frozen=True):
    """The flags of one release."""

    release: str
    flags: tuple[Flag, ...]
    spellings: dict[str, Flag]
    """Every exact spelling."""
    by_dest: dict[str, Flag]
    """The first flag of each destination, deprecated spellings last."""


@functools.cache
def tables() -> Tables:
    """The data file that ships with Alula, decoded once."""
    return msgspec.json.decode(DATA.read_bytes(), type=Tables)


@functools.lru_cache(maxsize=8)
def flag_table(release: str) -> FlagTable:
    """The table of one release that `tables().releases` lists; raises `KeyError` for any other."""
    known = tables()
    if release not in known.releases:
        raise KeyError(release)
    index = known.releases.index(release)
    flags: tuple[Flag, ...] = tuple(flag for flag in known.flags if flag.holds(index))
    spellings = {spelling: flag for flag in flags for spelling in flag.spellings()}
    by_dest: dict[str, Flag] = {}
    for flag in sorted(flags, key=lambda flag: flag.successor is not None or flag.action in ("removed", "ignored")):
        by_dest.setdefault(flag.dest, flag)
    return FlagTable(release, flags, spellings, by_dest)


def releases_with(spelling: str) -> tuple[str, ...]:
    """The releases that accept this exact spelling, oldest first; empty where none does."""
    known = tables()
    forms = [flag for flag in known.flags if spelling in flag.spellings() and flag.action != "removed"]
    return tuple(name for index, name in enumerate(known.releases) if any(flag.holds(index) for flag in forms))
