"""What the demonstration asks for: how much of everything, and the campaign's file."""

from pathlib import Path
from typing import Any

import msgspec

from engine.demo.prompts import standard_library_prompts
from engine.demo.recorded import points_csv

NAME = "demo"
GOAL = 1.5


class Size(msgspec.Struct, frozen=True, kw_only=True):
    """How much is done."""

    prompts: int
    bench_prompts: int
    max_tokens: int
    bench_tokens: int
    num_steps: tuple[int, ...]
    samples: tuple[int, ...]
    epochs: int
    """Of each training."""
    held_out: float


WHOLE = Size(
    prompts=440, bench_prompts=12, max_tokens=128, bench_tokens=64, num_steps=(2, 4), samples=(90, 180, 360),
    epochs=5, held_out=0.12,
)  # fmt: skip
"""Meant for eight minutes on two idle cores; so far measured on busy ones alone."""

SMALL = Size(
    prompts=70, bench_prompts=3, max_tokens=64, bench_tokens=32, num_steps=(3,), samples=(13, 26, 52),
    epochs=12, held_out=0.15,
)  # fmt: skip
"""For a slow machine, and for tests."""


def can_train() -> bool:
    """Whether the extra `train` is installed, without importing it."""
    import importlib.util

    return importlib.util.find_spec("torch") is not None


def write_campaign(folder: Path, target: str, draft: str, size: Size, *, trains: bool) -> Path:
    """Write prompts, recorded points and the campaign's file; returns the latter."""
    import tomli_w

    prompts = standard_library_prompts(size.bench_prompts + size.prompts)
    lines = [msgspec.json.encode(prompt) + b"\n" for prompt in prompts]
    (folder / "bench.jsonl").write_bytes(b"".join(lines[: size.bench_prompts]))
    (folder / "prompts.jsonl").write_bytes(b"".join(lines[size.bench_prompts :]))
    (folder / "recorded.csv").write_text(points_csv())
    path = folder / "campaign.toml"
    path.write_text(tomli_w.dumps(_campaign(target, draft, size, trains=trains)))
    return path


def _campaign(target: str, draft: str, size: Size, *, trains: bool) -> dict[str, Any]:
    # Two threads that wait for one another in turn lose more to a busy neighbour than they win on an idle machine.
    shape = ["--depth", "4", "--max-length", "256", "--draft-vocab-size", "1024", "--threads", "1"]
    train = {
        "samples": list(size.samples),
        "untrained": True,
        "arguments": ["--epochs", str(size.epochs), *shape],
    }
    return {
        "name": NAME,
        "speedup": GOAL,
        "target": {"model": target, "reference": True, "ready_within_s": 120.0},
        "draft": {"path": draft, "faulty_flag": True},
        "data": {"prompts": ["prompts.jsonl"]},
        "regenerate": {
            "max_tokens": size.max_tokens, "temperature": 0.0, "concurrency": 32, "held_out": size.held_out,
        },
        **({"train": train} if trains else {}),
        "bench": {
            "prompts": "bench.jsonl", "num_steps": list(size.num_steps), "max_tokens": size.bench_tokens,
        },
        "forecast": {"points": "recorded.csv"},
    }  # fmt: skip
