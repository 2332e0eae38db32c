"""The demonstration's prompts: real, many enough, and the same every time."""

from pathlib import Path

import msgspec

from engine.demo.prompts import standard_library_prompts, write_prompts


def test_gives_as_many_different_prompts_as_asked() -> None:
    prompts = standard_library_prompts(300)
    assert len({prompt.id for prompt in prompts}) == 300
    assert all("def " in prompt.messages[0]["content"] for prompt in prompts)


def test_gives_the_same_prompts_every_time() -> None:
    assert standard_library_prompts(40) == standard_library_prompts(40)


def test_written_lines_are_records_that_regeneration_reads(tmp_path: Path) -> None:
    path = tmp_path / "prompts.jsonl"
    assert write_prompts(path, 25) == 25
    records = [msgspec.json.decode(line) for line in path.read_bytes().splitlines()]
    assert all(record["messages"][0]["role"] == "user" and record["id"] for record in records)
