"""Token rows as Parquet: written in constant memory, read back row by row."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from engine.regen.tokens.rows import Row

ROWS_TOGETHER = 512


class DamagedFile(ValueError):
    """What should be token rows cannot be read as such."""


class RowWriter:
    """Columns id, part, origin, source, input_ids (int32) and loss_mask (int8), zstd, in groups of `ROWS_TOGETHER`."""

    def __init__(self, stream: BinaryIO) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        self.rows = self.tokens = self.loss_tokens = 0
        self._schema = pa.schema(
            [("id", pa.string()), ("part", pa.int32()), ("origin", pa.string()), ("source", pa.string()),
             ("input_ids", pa.list_(pa.int32())), ("loss_mask", pa.list_(pa.int8()))]
        )  # fmt: skip
        self._table = pa.Table
        self._writer = pq.ParquetWriter(stream, self._schema, compression="zstd")
        self._waiting: list[Row] = []

    def write(self, row: Row) -> None:
        """Add a row."""
        self.rows += 1
        self.tokens += len(row.input_ids)
        self.loss_tokens += sum(row.loss_mask)
        self._waiting.append(row)
        if len(self._waiting) == ROWS_TOGETHER:
            self._flush()

    def close(self) -> None:
        """Write what waits, and the footer."""
        self._flush()
        self._writer.close()

    def _flush(self) -> None:
        if self._waiting:
            columns: dict[str, list[Any]] = {
                name: [getattr(row, name) for row in self._waiting] for name in Row.__struct_fields__
            }
            self._writer.write_table(self._table.from_pydict(columns, schema=self._schema))
            self._waiting = []


def read_rows(path: Path) -> Iterator[Row]:
    """Every row of a file.

    Raises:
        DamagedFile: It is no whole Parquet file with these columns.
        OSError: It cannot be opened.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(path) as file:
            for batch in file.iter_batches(batch_size=ROWS_TOGETHER):
                for found in batch.to_pylist():
                    yield msgspec.convert(found, Row)
    except (pa.ArrowException, msgspec.ValidationError, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:  # of the host, not of pyarrow, which names none
            raise
        raise DamagedFile(f"{path.name} is damaged, or not such a Parquet file: {error}") from error
