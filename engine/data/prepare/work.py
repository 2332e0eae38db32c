"""The work folder of a preparation: the plan that it began with, and what is known of each source."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from engine.data.plan.records import Plan, PlanError
from engine.data.prepare.parts import write_whole
from engine.data.records import Mapping, Source, SourceError

PLAN = "plan.json"


class SourceState(msgspec.Struct, frozen=True, kw_only=True):
    """A source as the preparation found it."""

    source: Source
    """With the commit that a hub revision stood for."""
    mapping: Mapping
    shape: str | None
    why: tuple[str, ...]
    mark: tuple[int, int] | None
    """Size and time of a file, to see whether it changes."""
    blocks: int | None = None
    """How many it has; `None` until it was read to its end."""
    skipped: str | None = None
    """Why the source was left out."""


class Work:
    """A work folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def begin(self, plan: Plan) -> None:
        """Keep the plan, or hold it against the one that is kept.

        Raises:
            PlanError: The preparation began with another plan.
        """
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        content = msgspec.json.format(msgspec.json.encode(plan), indent=2)
        path = self.folder / PLAN
        if path.exists() and path.read_bytes() != content:
            raise PlanError(
                f"the preparation in {self.folder.parent} began with another plan",
                "give --restart to begin anew, or another --output",
            )
        write_whole(path, content)

    def plan(self) -> Plan:
        """The plan that is kept.

        Raises:
            PlanError: There is none, or it is damaged.
        """
        try:
            return msgspec.json.decode((self.folder / PLAN).read_bytes(), type=Plan)
        except (OSError, msgspec.DecodeError, RecursionError) as error:
            raise PlanError(f"{self.folder} holds no preparation: {error}", "begin one: alula data prepare") from error

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Be the only one at work here.

        Raises:
            PlanError: Another one is.
        """
        descriptor = os.open(self.folder / "lock", os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(descriptor)
            raise PlanError(f"another preparation is at work in {self.folder}", "wait, or stop its job") from None
        try:
            yield
        finally:
            os.close(descriptor)

    def source(self, number: int) -> SourceState | None:
        """What is known of a source; `None` before it was looked at."""
        path = self._source_path(number)
        return msgspec.json.decode(path.read_bytes(), type=SourceState) if path.exists() else None

    def keep_source(self, number: int, state: SourceState) -> None:
        """Keep what is known of a source."""
        write_whole(self._source_path(number), msgspec.json.encode(state))

    def forget_source(self, number: int) -> None:
        """Throw away a source's parts, to read it anew."""
        for path in self.folder.glob(f"{number:03d}-*"):
            path.unlink()
        self._source_path(number).unlink(missing_ok=True)

    def _source_path(self, number: int) -> Path:
        return self.folder / f"source-{number:03d}.json"


def mark_of(source: Source) -> tuple[int, int] | None:
    """Size and time of a source's file; `None` of a hub data set, which is read at one commit.

    Raises:
        SourceError: The file is gone.
    """
    if source.path is None:
        return None
    try:
        found = Path(source.path).stat()
    except OSError as error:
        raise SourceError(f"cannot read {source.path}: {error.strerror}", "put the file back") from error
    return found.st_size, found.st_mtime_ns
