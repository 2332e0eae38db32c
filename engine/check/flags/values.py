"""What the converters of SGLang's flags make of a word (sglang 0.5.23, utils/common.py)."""

import json
import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any

_SIZE = re.compile(r"(\d+(?:\.\d+)?)(Ki|Mi|Gi|Ti|k|M|G|T)")
_DECIMAL = {"k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_BINARY = {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40}


def human_readable_int(text: str) -> int:
    """`25.6k`, `1Ki`, `4096`; raises `ValueError`."""
    sized = _SIZE.fullmatch(text.strip())
    if sized is None:
        return int(text.strip())
    number, suffix = sized.groups()
    if suffix in _BINARY:
        return int(number) * _BINARY[suffix]
    size = Decimal(number) * _DECIMAL[suffix]
    if size != int(size):
        raise ValueError(text)
    return int(size)


def nullable_str(text: str) -> str | None:
    """The text; `None` for an empty one and for `None`."""
    return None if text in ("", "None") else text


CONVERTERS: dict[str, Callable[[str], Any]] = {
    "str": str,
    "int": int,
    "float": float,
    "nullable_str": nullable_str,
    "human_readable_int": human_readable_int,
    "json.loads": json.loads,
    "json_list_type": json.loads,
}
"""By the name that the flag table gives; a converter that is not here leaves the word as it is."""

DESCRIPTIONS = {
    "int": "a whole number",
    "float": "a number",
    "human_readable_int": "a whole number, or one with a suffix such as 4k",
    "json.loads": "JSON",
    "json_list_type": "a JSON list",
}


def convert(type_name: str, text: str) -> Any:
    """The value of one word; raises `ValueError` (a `RecursionError` of deep JSON becomes one)."""
    try:
        return CONVERTERS.get(type_name, str)(text)
    except RecursionError:
        raise ValueError("nested too deep") from None
