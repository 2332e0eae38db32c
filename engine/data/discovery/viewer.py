"""Size and first rows of a set, from the hub's data set viewer.

Its answers are those of its openapi.json (huggingface/dataset-viewer): `partial` means that the row count is a lower
bound, `truncated_cells` names columns that were cut.
"""

import os
from typing import Any

import msgspec

ROWS_KEPT = 12
LARGEST_ROW = 20_000
"""Characters of a row that is kept; a larger one says no more about the shape."""

_NOT_SHOWN = (401, 403, 404, 422, 500, 501)


class Viewed(msgspec.Struct, frozen=True, kw_only=True):
    """What the viewer tells."""

    config: str | None = None
    split: str | None = None
    rows: int | None = None
    rows_at_least: bool = False
    """The viewer converted only a first part."""
    bytes: int | None = None
    """Of the files to download."""
    columns: dict[str, str] = {}
    first_rows: list[dict[str, Any]] = []
    """Without rows whose cells were cut."""
    splits: int = 0
    """Of all configurations."""


def view(name: str) -> Viewed | None:
    """The largest split to train on; `None` where the viewer cannot show the set.

    Raises:
        Exception: What the client raises, and what an answer of another form than the viewer's leads to.
    """
    told = _ask("splits", dataset=name)
    if not told or not told["splits"]:
        return None
    chosen = next((one for one in told["splits"] if str(one["split"]).startswith("train")), told["splits"][0])
    config, split = str(chosen["config"]), str(chosen["split"])
    size = _ask("size", dataset=name, config=config) or {}
    first = _ask("first-rows", dataset=name, config=config, split=split) or {}
    measured: dict[str, Any] = next(
        (one for one in size.get("size", {}).get("splits", []) if one.get("split") == split), {}
    )
    rows = [one["row"] for one in first.get("rows", []) if not one.get("truncated_cells")]
    return Viewed(
        config=config,
        split=split,
        rows=measured.get("estimated_num_rows") or measured.get("num_rows"),
        rows_at_least=bool(size.get("partial")) and not measured.get("estimated_num_rows"),
        bytes=size.get("size", {}).get("config", {}).get("num_bytes_original_files"),
        columns={str(one["name"]): _type(one["type"]) for one in first.get("features", [])},
        first_rows=[row for row in rows if len(str(row)) <= LARGEST_ROW][:ROWS_KEPT],
        splits=len(told["splits"]),
    )


def _ask(path: str, **parameters: str) -> Any:
    """The viewer's answer; `None` where it has none for this set, or we may not see it."""
    from huggingface_hub import constants, get_session, hf_raise_for_status

    base = os.environ.get("ALULA_DATASET_VIEWER") or constants.DATASETS_SERVER_ENDPOINT
    response = get_session().get(f"{base}/{path}", params=parameters, headers=_headers())
    if response.headers.get("x-error-code") == "ResponseNotReadyError":
        raise ValueError("the viewer is still at work on this set")
    if response.status_code in _NOT_SHOWN:
        return None
    hf_raise_for_status(response)
    return response.json()


def _headers() -> dict[str, str]:
    from huggingface_hub import get_token

    token = get_token()
    return {"authorization": f"Bearer {token}"} if token else {}


def _type(feature: Any) -> str:
    if isinstance(feature, dict):
        kind = feature.get("dtype") or ("list" if "feature" in feature else feature.get("_type", "object"))
        return str(kind).lower()
    return "list"
