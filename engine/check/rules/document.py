"""Writes docs/rules.md from the rules: `python -m engine.check.rules.document > docs/rules.md`."""

import sys
from collections.abc import Iterator

from engine.check.rules import RULES, Rule

HEAD = """# Rules

Made from the code by `python -m engine.check.rules.document`. `alula check --explain RULE` prints the same.

**error**: it will crash, or silently lose all or most of the gain. **warning**: it costs speed, changes what was asked, or
makes a figure untrue. **info**: worth knowing. A rule that lacks an input says nothing; what is missing is told once.
Some rules report a lower severity where the release or another setting makes the matter less grave.
"""
AREAS = {
    "algorithm": "The algorithm", "pairing": "Target and draft", "tree": "The draft tree", "sampling": "Acceptance",
    "command": "The command line", "capture": "Captured layers", "widths": "Widths", "vocabulary": "Vocabularies",
    "tensors": "Tensors", "draft_config": "The draft's config", "precision": "Context and number formats",
    "backends": "Backends and parallelism", "serving": "Settings around it", "live": "A running server",
    "training": "Training", "vllm": "vLLM", "inputs": "What could not be read",
}  # fmt: skip


def document() -> str:
    """The whole page."""
    return "\n".join([HEAD, *_sections()])


def _sections() -> Iterator[str]:
    by_area: dict[str, list[Rule]] = {}
    for one in RULES.values():
        by_area.setdefault(one.look.__module__.rpartition(".")[2], []).append(one)
    for area in [*AREAS, *sorted(by_area.keys() - AREAS.keys())]:
        if area in by_area:
            yield f"## {AREAS.get(area, area.replace('_', ' ').capitalize())}\n"
            yield from (_entry(one) for one in by_area[area])


def _entry(one: Rule) -> str:
    return f"### `{one.id}` ({one.severity})\n{one.title}.\n\n{one.explanation}\n\n*Source: {one.source}.*\n"


if __name__ == "__main__":
    sys.stdout.write(document())
