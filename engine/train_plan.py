"""Where the documents of a training plan lie: `train_plan_vN.md`, each version a file of its own."""

import re
from pathlib import Path

_NAME = re.compile(r"train_plan_v(\d+)\.md")


def next_document(folder: Path) -> Path:
    """The name with the first number that is not taken; an older document is never written over."""
    numbers = [int(match[1]) for path in folder.glob("train_plan_v*.md") if (match := _NAME.fullmatch(path.name))]
    return folder / f"train_plan_v{max(numbers, default=0) + 1}.md"
