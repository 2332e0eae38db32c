"""What the terminal shows: a grid of cells, where `None` is a cell of which nothing is known."""

from widgets.terminal.cells import CONTINUATION, Cell


class Shadow:
    """The cells of a screen of `width` by `height`."""

    def __init__(self, width: int, height: int) -> None:
        self.width = width
        self.height = height
        self.rows: list[list[Cell | None]] = []
        self.forget()

    def forget(self) -> None:
        """Nothing is known any more."""
        self.rows = [[None] * self.width for _ in range(self.height)]

    def forget_row(self, y: int) -> None:
        """Nothing is known of one row; rows outside are none of ours."""
        if 0 <= y < self.height:
            self.rows[y] = [None] * self.width

    def holds(self, x: int, y: int, cells: list[Cell]) -> bool:
        """Whether a run of cells is entirely inside and starts with a character of its own."""
        return 0 <= y < self.height and x >= 0 and x + len(cells) <= self.width and bool(cells[0].width)

    def last_character(self, y: int) -> tuple[int, int, Cell] | None:
        """The place and cell of what stands at the right edge of a row; `None` where that is not known."""
        x = self.width - (2 if self.width > 1 and self.rows[y][-1] is CONTINUATION else 1)
        cell = self.rows[y][x]
        return None if cell is None else (x, y, cell)

    def would_halve(self, x: int, y: int, cell: Cell) -> bool:
        """Whether writing here covers one half of a wide character."""
        row, end = self.rows[y], x + cell.width
        return row[x] is CONTINUATION or (end < self.width and row[end] is CONTINUATION)

    def put(self, x: int, y: int, cell: Cell) -> None:
        """A cell was written. The other half of a wide character that it covered is lost."""
        row = self.rows[y]
        if row[x] is CONTINUATION:
            row[x - 1] = None
        end = x + cell.width
        if end < self.width and row[end] is CONTINUATION:
            row[end] = None
        row[x] = cell
        if cell.width == 2:
            row[x + 1] = CONTINUATION
