"""Scouts: what each looks for. Operators add their own as TOML."""

import tomllib
from collections.abc import Sequence
from pathlib import Path

import msgspec

from state.outside_file import read_small_text


class Scout(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One domain to look through."""

    name: str
    domain: str
    searches: tuple[str, ...]
    filters: tuple[tuple[str, ...], ...] = ()
    """Tags of the hub; those of one entry must all hold."""
    words: tuple[str, ...] = ()
    """Parts of words that tell that a set is of this domain."""
    known: tuple[str, ...] = ()
    """Ids that must not be missed."""
    wanted: int = 3
    """Sets to keep; with fewer a round more is made."""


class ScoutError(Exception):
    """Scouts cannot be read. `remedy` says what to do."""

    def __init__(self, message: str, remedy: str) -> None:
        super().__init__(message)
        self.remedy = remedy


def built_in_scouts() -> tuple[Scout, ...]:
    """The ten that come with Alula."""
    return read_scouts(Path(__file__).parent / "scouts.toml")


def read_scouts(path: Path) -> tuple[Scout, ...]:
    """The scouts of a TOML file with `[[scout]]` tables.

    Raises:
        ScoutError: The file cannot be read, or holds a mistake.
    """
    try:
        found = msgspec.convert(tomllib.loads(read_small_text(path))["scout"], tuple[Scout, ...])
    except KeyError:
        raise ScoutError(f"{path} has no [[scout]]", "give each a name, a domain and searches") from None
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, msgspec.ValidationError, RecursionError) as error:
        raise ScoutError(f"{path}: {error}", "see engine/data/discovery/scouts.toml for the fields") from error
    for scout in found:
        if not scout.searches and not scout.filters and not scout.known:
            raise ScoutError(f"{path}: the scout {scout.name} looks for nothing", "give searches, filters or known")
    return found


def chosen(scouts: Sequence[Scout], names: Sequence[str]) -> tuple[Scout, ...]:
    """The scouts of these names or domains; all where none is named.

    Raises:
        ScoutError: A name is unknown.
    """
    if not names:
        return tuple(scouts)
    known = {key: scout for scout in scouts for key in (scout.name, scout.domain)}
    if unknown := [name for name in names if name not in known]:
        raise ScoutError(f"there is no scout {unknown[0]}", f"there are {', '.join(scout.name for scout in scouts)}")
    return tuple(dict.fromkeys(known[name] for name in names))
