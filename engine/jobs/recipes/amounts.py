"""Amounts of memory, lengths of time and GPUs, as people write them."""

import re

_BYTES = {"": 1, "b": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
_SECONDS = {"": 1, "s": 1, "m": 60, "min": 60, "h": 3600, "d": 86400}


def bytes_of(text: str) -> int:
    """`64GiB`, `64G`, `512 MiB` or a number, in bytes.

    Raises:
        ValueError: It is none of them.
    """
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kmgtb]?)(?:i?b)?\s*", text, re.IGNORECASE)
    if not found:
        raise ValueError(f"{text!r} is no amount of memory: write 64GiB")
    return int(float(found[1]) * _BYTES[found[2].lower()])


def seconds_of(text: str) -> float:
    """`12h`, `90min`, `1h30m` or a number, in seconds.

    Raises:
        ValueError: It is none of them.
    """
    parts = re.findall(r"(\d+(?:\.\d+)?)\s*(min|[smhd]?)\s*", text.strip().lower())
    if not parts or "".join(f"{number}{unit}" for number, unit in parts) != re.sub(r"\s", "", text.lower()):
        raise ValueError(f"{text!r} is no length of time: write 12h, 90min or 30s")
    return sum(float(number) * _SECONDS[unit] for number, unit in parts)


def gpus_of(text: str) -> tuple[int | None, tuple[int, ...]]:
    """A count, or indices, of which a comma tells.

    Raises:
        ValueError: It is neither.
    """
    try:
        if "," in text:
            return None, tuple(int(part) for part in text.split(",") if part.strip())
        return (int(text), ()) if text.strip() else (None, ())
    except ValueError:
        raise ValueError(f"{text!r} is neither a number of GPUs nor a list of indices (0,1)") from None
