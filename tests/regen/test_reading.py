"""Every form of input, and every way in which it can be bad."""

import gzip
import string
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as some

from engine.regen.formats import Unusable, to_sample
from engine.regen.intake import Intake
from engine.regen.plan import id_prefixes
from engine.regen.reading import LONGEST_LINE, read_samples
from engine.regen.records import Rejection, Sample
from engine.regen.store import Store

TEXT = some.text(string.printable + "äß漢😀\0", min_size=1).filter(lambda text: text.strip())
JSON = some.recursive(
    some.none() | some.booleans() | some.integers() | some.floats() | some.text(),
    lambda inner: some.lists(inner) | some.dictionaries(
        some.sampled_from(["messages", "conversations", "prompt", "turns", "role", "content", "from", "value", "id"]),
        inner,
    ),
)  # fmt: skip


@given(users=some.lists(TEXT, min_size=1, max_size=4), system=some.none() | TEXT)
def test_all_forms_of_a_conversation_give_the_same_prompt(users: list[str], system: str | None) -> None:
    messages = [{"role": "system", "content": system}] if system is not None else []
    sharegpt = [{"from": "system", "value": system}] if system is not None else []
    for user in users:
        messages += [{"role": "user", "content": user}, {"role": "assistant", "content": "dropped"}]
        sharegpt += [{"from": "human", "value": user}, {"from": "gpt", "value": "dropped"}]
    one = to_sample({"messages": messages})
    assert (one.users, one.system) == (tuple(users), system)
    assert one == to_sample({"conversations": sharegpt}) == to_sample({"conversations": messages})
    if system is None:
        assert one == to_sample({"turns": users})


@given(JSON)
def test_anything_is_a_sample_or_is_refused_with_a_remedy(value: Any) -> None:
    try:
        sample = to_sample(value)
    except Unusable as error:
        assert str(error) and error.remedy
    else:
        assert sample.id and all(user.strip() for user in sample.users)


@given(content=some.binary(max_size=400))
def test_any_bytes_can_be_read(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    path = tmp_path_factory.mktemp("bytes") / "x.jsonl"
    path.write_bytes(content)
    for _, found in read_samples(path):
        assert isinstance(found, Sample | Rejection)


BAD = {
    "not JSON": (b"{oops", "not JSON"),
    "no object": (b"[1]", "a list, not an object"),
    "no prompt": (b'{"text": "x"}', "no field messages"),
    "wrong type": (b'{"prompt": 5}', "does not hold text"),
    "empty": (b'{"prompt": "  "}', "empty"),
    "surrogate": (rb'{"prompt": "\ud800"}', ""),
    "tool role": (b'{"messages": [{"role": "tool", "content": "x"}]}', "cannot be replayed"),
    "no user": (b'{"messages": [{"role": "system", "content": "x"}]}', "no user message"),
    "broken UTF-8": (b'{"prompt": "\xff"}', ""),
    "too deep": (b"[" * 100_000, ""),
    "too long": (b'{"prompt": "' + b"x" * LONGEST_LINE + b'"}', "longer than 16 MiB"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_bad_line_is_rejected_by_place_and_the_next_one_is_read(case: str, tmp_path: Path) -> None:
    line, reason = BAD[case]
    path = tmp_path / "in.jsonl"
    path.write_bytes(b'{"prompt": "before"}\n' + line + b'\n\n{"prompt": "after"}')
    found = dict(read_samples(path))
    assert [number for number, one in found.items() if isinstance(one, Sample)] == [1, 4]
    rejection = found[2]
    assert isinstance(rejection, Rejection) and reason in rejection.reason and rejection.remedy
    assert (rejection.file, rejection.line) == (str(path), 2)


def test_gzip_and_arrays_are_read(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(b'{"task_id": "H/0", "prompt": "p"}\n'))
    (tmp_path / "b.json").write_bytes(b' [{"question_id": 81, "turns": ["p", "q"]}]')
    [(_, first)], [(_, second)] = read_samples(tmp_path / "a.jsonl.gz"), read_samples(tmp_path / "b.json")
    assert first == Sample("H/0", ("p",)) and second == Sample("81", ("p", "q"))


def test_a_torn_gzip_file_gives_what_it_has(tmp_path: Path) -> None:
    lines = b"".join(b'{"prompt": "%d"}\n' % number for number in range(20_000))
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(lines)[:-20])
    found = [one for _, one in read_samples(tmp_path / "a.jsonl.gz")]
    assert sum(isinstance(one, Sample) for one in found) > 0
    assert isinstance(found[-1], Rejection) and "damaged" in found[-1].reason


def test_duplicate_ids_are_rejected_and_files_of_one_name_do_not_clash(tmp_path: Path) -> None:
    paths = [tmp_path / folder / "in.jsonl" for folder in "ab"]
    for path in paths:
        path.parent.mkdir()
        rows = [{"id": 1, "prompt": f"x {path}"}, {"id": 1, "prompt": "other"}, {"id": 2, "prompt": "y"}]
        path.write_bytes(b"\n".join(map(msgspec.json.encode, rows)))
    prefixes = id_prefixes([str(path) for path in paths])
    store = Store(tmp_path)
    for path in paths:
        Intake(store.database).take_in(path, "", prefixes[str(path)])
    assert [sample.id for _, sample in store.samples(range(1, 5))] == ["in/1", "in/2", "in-2/1", "in-2/2"]
    assert [(one.file, one.line) for one in store.rejections()] == [(str(path), 2) for path in paths]
    store.close()
