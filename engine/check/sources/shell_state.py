"""What a shell script has set up at one point, and the commands it starts."""

from collections.abc import Mapping

import msgspec

from engine.check.sources.shell_expansion import Value
from engine.check.sources.text import NOWHERE, SourceText, Text


class ShellCommand(msgspec.Struct, frozen=True, kw_only=True):
    """One simple command with its words expanded."""

    words: tuple[Text, ...]
    prefix: Mapping[str, str] = {}
    """`NAME=value` before the command."""
    exported: Mapping[str, str] = {}
    """Variables that the script exported before."""
    wrappers: tuple[tuple[Text, ...], ...] = ()
    """Commands around it that were handed this one as a string (`docker run image bash -c '...'`), outermost first."""
    folder: str | None = None
    source: SourceText


class ShellState(msgspec.Struct):
    """Variables, exports and working folder at one point of a script."""

    variables: dict[str, Value]
    exported: set[str]
    folder: str | None = None
    exports_all: bool = False

    def copy(self) -> "ShellState":
        """A state that changes apart from this one."""
        return ShellState(dict(self.variables), set(self.exported), self.folder, self.exports_all)

    def merge(self, branches: list["ShellState"]) -> None:
        """Keep what all branches agree on."""
        first, *others = branches
        for name in {name for branch in branches for name in branch.variables}:
            self.variables[name] = _common(name, [one.variables.get(name) for one in branches])
        self.exported = set().union(*(branch.exported for branch in branches))
        self.folder = first.folder if all(b.folder == first.folder for b in others) else None


def _common(name: str, values: list[Value]) -> Value:
    """What all branches share; of arrays that some extend, the common beginning and a word that is not known."""
    first = values[0]
    if all(value == first for value in values):
        return first
    arrays = [value for value in values if isinstance(value, list)]
    shortest = min(arrays, key=len, default=[])
    if len(arrays) < len(values) or any(array[: len(shortest)] != shortest for array in arrays):
        return None
    written = f"${{{name}[@]}}"
    return [*shortest, Text(written, (NOWHERE,) * len(written), (False,) * len(written), (name,), True)]
