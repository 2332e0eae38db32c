"""Files as they come: every format, compressed, broken, in other encodings."""

import bz2
import gzip
import json
import lzma
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from engine.data.records import BadRow, Source, SourceError
from engine.data.sources.decoding import LARGEST_ROW, decode
from engine.data.sources.rows import named_source, raw_rows, read_rows

ROWS = [{"prompt": f"Frage {number} – ü"} for number in range(5)]
JSONL = b"".join(json.dumps(row, ensure_ascii=False).encode() + b"\n" for row in ROWS)


def read(path: Path, encoding: str = "utf-8") -> list[object]:
    return list(read_rows(Source(path=str(path), encoding=encoding)))


@pytest.mark.parametrize(
    ("name", "pack"),
    [
        ("a.jsonl", bytes),
        ("a.jsonl.gz", gzip.compress),
        ("a.jsonl.xz", lzma.compress),
        ("a.jsonl.bz2", bz2.compress),
        ("a.jsonl.zst", zstandard.ZstdCompressor().compress),
        ("wrong-suffix.jsonl", gzip.compress),
    ],
)
def test_lines_through_any_compression(tmp_path: Path, name: str, pack: Callable[[bytes], bytes]) -> None:
    path = tmp_path / name
    path.write_bytes(pack(JSONL))
    assert read(path) == ROWS


def test_arrays_tables_and_parquet(tmp_path: Path) -> None:
    import pyarrow
    import pyarrow.parquet

    (tmp_path / "a.json").write_text(json.dumps(ROWS, indent=1), encoding="utf-8")
    (tmp_path / "a.csv").write_text("prompt\n" + "".join(f'"{row["prompt"]}"\n' for row in ROWS), encoding="utf-8-sig")
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(ROWS), tmp_path / "a.parquet")
    for name in ("a.json", "a.csv", "a.parquet"):
        assert read(tmp_path / name) == ROWS, name


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8-sig"])
def test_a_byte_order_mark_names_the_encoding(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(JSONL.decode().encode(encoding))
    assert read(path) == ROWS


def test_latin_1_is_told_and_then_read(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes('{"prompt": "für"}\n'.encode("latin-1"))
    [bad] = read(path)
    assert isinstance(bad, BadRow)
    assert bad.reason == "bad_encoding"
    assert read(path, "latin-1") == [{"prompt": "für"}]


def test_broken_rows_stand_among_good_ones(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    huge = b'{"prompt": "' + b"x" * LARGEST_ROW + b'"}\n'
    deep = b"[" * 20_000 + b"\n"
    path.write_bytes(b'{"prompt": "good"}\n\n{"prompt": \n[1]\n' + huge + deep + b'\xff\xfe\n{"prompt": "last"}')
    found = [row.reason if isinstance(row, BadRow) else row["prompt"] for row in read_rows(Source(path=str(path)))]
    assert found == ["good", "broken_json", "not_an_object", "huge_row", "broken_json", "bad_encoding", "last"]


def test_a_cut_archive_gives_what_it_has_and_says_so(tmp_path: Path) -> None:
    lines = b"".join(json.dumps({"prompt": str(number) * 50}).encode() + b"\n" for number in range(20_000))
    for name, packed in (("a.jsonl.gz", gzip.compress(lines)), ("a.jsonl.xz", lzma.compress(lines))):
        path = tmp_path / name
        path.write_bytes(packed[: len(packed) // 2])
        found = read(path)
        assert len(found) > 1
        assert isinstance(found[-1], BadRow)
        assert found[-1].reason == "damaged_file"


def test_a_table_with_uneven_lines_and_a_huge_cell(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("prompt,answer\na,b\nonly\n" + "x" * (LARGEST_ROW + 10) + ",b\nc,d\n", encoding="utf-8")
    found = [row.reason if isinstance(row, BadRow) else row["prompt"] for row in read_rows(Source(path=str(path)))]
    assert found == ["a", "not_an_object", "huge_row", "c"]


def test_reading_goes_on_after_any_row(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"\n" + JSONL)
    whole = list(raw_rows(Source(path=str(path))))
    for start in range(6):
        assert list(raw_rows(Source(path=str(path)), skip=start)) == whole[start:]


def test_a_name_is_a_file_or_a_hub_id(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.touch()
    assert named_source(str(path)).path == str(path)
    assert named_source("nuprl/MultiPL-E", "humaneval-cpp").hub == "nuprl/MultiPL-E"
    with pytest.raises(SourceError):
        named_source("/no/such/thing/here")
    with pytest.raises(SourceError):
        list(raw_rows(named_source("missing.jsonl")))


@given(st.binary(max_size=200))
def test_any_line_is_a_record_or_a_reason(line: bytes) -> None:
    assert isinstance(decode(line), dict | BadRow)
