"""Plans and records made for the tests, from a seed."""

import random
from pathlib import Path
from typing import Any

import msgspec

VOCABULARY = """
    write read sort merge parse build explain list tree graph server client token cache index query file stream byte
    number string value loop function class module return error test case user account order price date time zone map
    queue stack heap node edge path search find replace count sum average median filter reduce join split format print
"""
WORDS = VOCABULARY.split()


def prompt(random_source: random.Random, words: int = 60) -> str:
    """A prompt of random words, in sentences."""
    made = [random_source.choice(WORDS) for _ in range(words)]
    return " ".join(made).capitalize() + "."


def edited(random_source: random.Random, text: str, edits: int = 1) -> str:
    """The same text with some words changed."""
    words = text.split(" ")
    for _ in range(edits):
        words[random_source.randrange(len(words))] = random_source.choice(WORDS).upper()
    return " ".join(words)


def write_jsonl(path: Path, rows: list[dict[str, Any]]) -> Path:
    """A JSONL file."""
    path.write_bytes(b"".join(msgspec.json.encode(row) + b"\n" for row in rows))
    return path


def write_plan(folder: Path, text: str, name: str = "plan.toml") -> Path:
    """A plan in a folder."""
    path = folder / name
    path.write_text(text)
    return path


def output_bytes(folder: Path) -> dict[str, bytes]:
    """Everything that a preparation wrote but its unfinished work."""
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir()) if path.is_file()}


def records(folder: Path, kind: str = "data") -> list[dict[str, Any]]:
    """The records of all JSONL shards, in order."""
    return [msgspec.json.decode(line) for path in sorted(folder.glob(f"{kind}-*.jsonl")) for line in path.open("rb")]
