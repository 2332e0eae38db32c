"""Writes docs/database.md from the schema and the records: `python -m state.document > docs/database.md`."""

import ast
import re
import sqlite3
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from state.database import SCHEMA_VERSION, open_database
from state.markdown import table_cell

RECORDS = Path(__file__).parent / "records"
HEAD = f"""# State database

Made from the code by `python -m state.document`. For those who read the state with `sqlite3`, `datasette` or a script:

```
sqlite3 -readonly "$(alula db path)" "SELECT name, state FROM job ORDER BY id DESC LIMIT 5"
```

Read only: what is written past the engine may be undone. This is schema {SCHEMA_VERSION} (`PRAGMA user_version`);
a later release may change it. Times are UTC seconds since 1970; `_s`, `_bytes`, `_w`, `_c` at the end of a name are
units; NULL means not reported. Tables that end in `_10s` and `_60s` hold means over ten seconds (kept for a day) and a
minute (kept for 30 days). Lists and mappings are JSON text.
"""


class Record(NamedTuple):
    """A record's docstring, and its fields' ones."""

    meaning: str
    fields: dict[str, str]


def document() -> str:
    """The whole page."""
    with tempfile.TemporaryDirectory() as folder, closing(open_database(Path(folder) / "alula.sqlite")) as database:
        return "\n".join([HEAD, *_tables(database, records())])


def records() -> dict[str, Record]:
    """Every record by the name of its table: `GpuSample` as `gpu_sample`."""
    found: dict[str, Record] = {}
    for path in sorted(RECORDS.glob("*.py")):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef):
                name = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", node.name).lower()
                found[name] = Record(table_cell(ast.get_docstring(node) or ""), dict(_fields(node)))
    return found


def _fields(record: ast.ClassDef) -> Iterator[tuple[str, str]]:
    for before, node in zip(record.body, record.body[1:], strict=False):
        field = isinstance(before, ast.AnnAssign) and isinstance(before.target, ast.Name)
        if field and isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            assert isinstance(before, ast.AnnAssign) and isinstance(before.target, ast.Name)
            yield before.target.id, table_cell(str(node.value.value))


def _tables(database: sqlite3.Connection, known: dict[str, Record]) -> Iterator[str]:
    names = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT GLOB '[_s]*qlite_*' ORDER BY name"
    for (table,) in database.execute(names).fetchall():
        record = known.get(re.sub(r"_(10|60)s$", "", table), Record("", {}))
        yield f"## `{table}`\n"
        if record.meaning:
            yield f"{record.meaning}\n"
        yield "| Column | Type | Meaning |\n| --- | --- | --- |"
        for _, column, kind, required, _, key in database.execute(f'PRAGMA table_info("{table}")'):
            marks = ", key" if key else "" if required else ", may be NULL"
            yield f"| `{column}` | {kind.lower()}{marks} | {record.fields.get(column, '')} |"
        yield ""


if __name__ == "__main__":
    sys.stdout.write(document())
