"""A usage or progress bar with its figure: `████████░░░░ 61 %`."""

from textual.content import Content

from widgets.figures import ABSENT, percent_column
from widgets.glyphs import ascii_only, glyphs
from widgets.line import aligned

_EIGHTHS = " ▏▎▍▌▋▊▉"


def bar(
    value_percent: float | None, width: int, style: str = "", figure: str | None = None, *, whole_cells: bool = False
) -> Content:
    """Draw a share of 0 to 100 in exactly `width` cells, to an eighth of a cell.

    Args:
        value_percent: `None` draws an empty track and `–`.
        width: Cells for bar and figure together; a narrow one shows the figure alone.
        style: Style of the filled part, by name: `$success`.
        figure: What stands behind the bar, in place of the percentage.
        whole_cells: Draw no part of a cell: the bar moves less often, and costs fewer bytes.
    """
    text = f" {percent_column(value_percent)}" if figure is None else f" {figure}"
    cells = width - len(text)
    if cells < 3:
        return aligned(text.strip() or ABSENT, width, "right")
    filled, rest = _filled(value_percent, cells, whole_cells)
    return Content.assemble((filled, style), (rest, "$text-disabled"), text)


def _filled(value_percent: float | None, cells: int, whole_cells: bool) -> tuple[str, str]:
    eighths = round(min(max(value_percent or 0.0, 0.0), 100.0) / 100 * cells * 8)
    if whole_cells or ascii_only():
        full = round(eighths / 8)
        return glyphs().full * full, glyphs().track * (cells - full)
    full, part = divmod(eighths, 8)
    filled = glyphs().full * full + (_EIGHTHS[part] if part else "")
    return filled, glyphs().track * (cells - len(filled))
