"""Some lines of a file of conversations: the same ones each time, those of a smaller number among those of a larger."""

import hashlib
import heapq
from pathlib import Path

from engine.campaign.specification import CampaignError
from engine.regen.whole_file import write_whole


def write_subset(source: Path, target: Path, count: int) -> None:
    """Write the `count` lines whose hashes are smallest, in the order of the file. Holds 40 bytes a chosen line.

    Raises:
        CampaignError: There are not as many lines.
        OSError: A file cannot be read or written.
    """
    with source.open("rb") as stream:
        chosen = heapq.nsmallest(count, ((hashlib.sha256(line).digest(), number) for number, line in enumerate(stream)))
    if len(chosen) < count:
        raise CampaignError(
            f"{source.name} holds {len(chosen)} samples, and [train] samples asks for {count}",
            "regenerate more prompts, or ask for fewer samples",
        )
    numbers = {number for _, number in chosen}
    with source.open("rb") as stream:
        write_whole(target, (line for number, line in enumerate(stream) if number in numbers))
