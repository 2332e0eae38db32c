"""Where a window over many rows stands."""


def scrolled(top: int, cursor: int, page: int, total: int) -> int:
    """The first row in sight, moved no further than the cursor needs, and never past the end."""
    top = min(top, max(0, total - page))
    return max(cursor - page + 1, min(top, cursor), 0)


def thumb_range(top: int, page: int, total: int) -> range:
    """Rows of the window that carry the scroll mark; none where everything is in sight."""
    if total <= page:
        return range(0)
    length = max(1, page * page // total)
    start = round(top / (total - page) * (page - length))
    return range(start, start + length)
