"""Holds every server against the one that the run began with: a data set is of one target, answered in one way."""

import logging
import os
from pathlib import Path

import msgspec

from engine.regen.identity import Identity, differences

FILE_NAME = "identity.json"
log = logging.getLogger(__name__)


class Known(msgspec.Struct, frozen=True):
    """Kept in the run folder: who answered."""

    reference: Identity
    """The first server that answered this run. All others must equal it in what answers depend on."""
    servers: dict[str, Identity] = {}


class Guard:
    """Knows the reference, and what is wrong with a server that differs."""

    def __init__(self, folder: Path, model: str, *, allow_lossy: bool = False) -> None:
        self._path = folder / FILE_NAME
        self._model = model
        self._allow_lossy = allow_lossy
        self.known = read_known(folder)
        self._unsaved = False

    def problem(self, url: str, identity: Identity) -> str | None:
        """Why this server must not be asked for this run, or `None`. The first good one becomes the reference."""
        if identity.model != self._model:
            return f"{url} now serves {identity.model}, the run began with {self._model}"
        lossy = identity.lossy()
        if lossy and not self._allow_lossy:
            told = ", ".join(f"{name}={value:g}" for name, value in lossy.items())
            return f"{url} accepts draft tokens that the target would not have drawn ({told})"
        if self.known is None:
            self._keep(Known(identity, {url: identity}))
            return None
        changed = differences(self.known.reference, identity)
        if changed:
            return f"{url} is not what the run began with: {'; '.join(changed)}"
        if self._unsaved or self.known.servers.get(url) != identity:
            self._keep(msgspec.structs.replace(self.known, servers={**self.known.servers, url: identity}))
        return None

    def _keep(self, known: Known) -> None:
        self.known = known
        part = self._path.with_name(f".{self._path.name}.{os.getpid()}")
        try:
            part.write_bytes(msgspec.json.format(msgspec.json.encode(known), indent=2))
            part.replace(self._path)
            self._unsaved = False
        except OSError as error:  # a full disk: the run waits for room with its answers, and this with it
            if not self._unsaved:
                log.error("cannot write %s: %s; trying again with the next look", self._path, error)
            self._unsaved = True


def read_known(folder: Path) -> Known | None:
    """Who answered a run so far; `None` before its first answer, or where the file is damaged."""
    try:
        return msgspec.json.decode((folder / FILE_NAME).read_bytes(), type=Known)
    except (FileNotFoundError, ValueError, RecursionError):
        return None
