"""Keys and values of all running requests: one slot for each, running requests in the first slots without gaps."""

from typing import Any

import numpy
from numpy.typing import NDArray


class KeyValueCache:
    """Memory is reserved for all slots, and used by the system only as far as it is written."""

    def __init__(self, layers: int, slots: int, heads: int, positions: int, width: int) -> None:
        shape = (layers, slots, heads, positions, width)
        self._keys = numpy.zeros(shape, dtype=numpy.float32)
        self._values = numpy.zeros(shape, dtype=numpy.float32)

    def extended(
        self,
        layer: int,
        slot: int,
        positions: NDArray[numpy.int64],
        keys: NDArray[numpy.float32],
        values: NDArray[numpy.float32],
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        """Write `keys` and `values` [rows, columns, heads, width] at `positions`; return views up to the furthest.

        What stands beyond a row's own position is left over from earlier and must be masked.
        """
        rows, reach = len(positions), int(positions.max()) + 1
        row = numpy.arange(slot, slot + rows)[:, None]
        self._keys[layer][row, :, positions] = keys
        self._values[layer][row, :, positions] = values
        chosen = slice(slot, slot + rows)
        return self._keys[layer, chosen, :, :reach], self._values[layer, chosen, :, :reach]

    def move(self, source: int, destination: int, length: int) -> None:
        """Copy the first `length` positions of one slot to another."""
        for table in (self._keys, self._values):
            table[:, destination, :, :length] = table[:, source, :, :length]
