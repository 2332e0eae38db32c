"""A run that is split over several workers: each has the samples whose ids hash to its number, and a folder of its own.

The folder of such a run, a fleet, holds `shard-1`, `shard-2` and so on; each is a run folder as any other.
"""

import hashlib
import re
from pathlib import Path

import msgspec

_NAME = re.compile(r"shard-(\d+)")


class Shard(msgspec.Struct, frozen=True):
    """One part of a fleet's samples."""

    number: int
    """From 1."""
    of: int

    def holds(self, sample_id: str) -> bool:
        """Whether a sample belongs to it: by its id alone, so that every worker says the same."""
        digest = hashlib.sha256(sample_id.encode("utf-8", "surrogatepass")).digest()
        return int.from_bytes(digest[:8], "big") % self.of == self.number - 1


def shard_folder(fleet: Path, shard: Shard) -> Path:
    """Where a shard's answers lie."""
    return fleet / f"shard-{shard.number}"


def shard_folders(folder: Path) -> list[Path]:
    """The run folders of a fleet, in order; the folder itself where it is no fleet."""
    found = [(int(match[1]), one) for one in folder.glob("shard-*") if (match := _NAME.fullmatch(one.name))]
    return [one for _, one in sorted(found)] or [folder]
