"""Questions to the hub: lists of data sets, one set in full, its size and first rows from the data set viewer.

The data set viewer's answers are those of its openapi.json (huggingface/dataset-viewer): `partial` means that the row
count is a lower bound, `truncated_cells` names columns that were cut.
"""

import os
from typing import Any

import msgspec

from engine.data.discovery.answers import Answers

EXPANDED = ["author", "cardData", "createdAt", "downloads", "gated", "lastModified", "likes", "private", "sha", "tags"]
ROWS_ASKED = 20


class Listed(msgspec.Struct, frozen=True, kw_only=True):
    """A data set as the hub lists it."""

    id: str
    downloads: int | None = None
    modified_at: float | None = None
    gated: str | bool | None = None
    private: bool = False
    tags: tuple[str, ...] = ()
    licence: str | None = None
    languages: tuple[str, ...] = ()
    configs: tuple[str, ...] = ()
    rows_of_card: int | None = None
    bytes_of_card: int | None = None


class Viewed(msgspec.Struct, frozen=True, kw_only=True):
    """What the data set viewer tells."""

    config: str | None = None
    split: str | None = None
    rows: int | None = None
    rows_at_least: bool = False
    """The viewer converted only a first part."""
    bytes: int | None = None
    columns: dict[str, str] = {}
    first_rows: list[dict[str, Any]] = []
    """Without rows whose cells were cut."""


class Hub:
    """The hub, through huggingface_hub's own client."""

    def __init__(self, answers: Answers) -> None:
        self._answers = answers

    def list(
        self, *, search: str | None = None, tags: tuple[str, ...] = (), author: str | None = None, limit: int
    ) -> list[Listed]:
        """Data sets that match, the most downloaded first.

        Raises:
            Exception: What huggingface_hub raises.
            NotKept: Without a network.
        """
        from huggingface_hub import HfApi

        def ask() -> Any:
            found = HfApi().list_datasets(
                search=search, filter=tags or None, author=author, sort="downloads", limit=limit, expand=EXPANDED
            )  # type: ignore[arg-type]
            return [msgspec.to_builtins(_listed(one)) for one in found]

        question = f"list search={search} tags={','.join(tags)} author={author} limit={limit}"
        return msgspec.convert(self._answers.get(question, ask), list[Listed])

    def info(self, name: str) -> Listed | None:
        """One set; `None` where the hub knows none of this name.

        Raises:
            Exception: What huggingface_hub raises.
            NotKept: Without a network.
        """
        from huggingface_hub import HfApi
        from huggingface_hub.errors import RepositoryNotFoundError

        def ask() -> Any:
            try:
                return msgspec.to_builtins(_listed(HfApi().dataset_info(name, timeout=30)))
            except RepositoryNotFoundError:
                return None

        return msgspec.convert(self._answers.get(f"info {name}", ask), Listed | None)

    def view(self, name: str) -> Viewed | None:
        """Size and first rows; `None` where the viewer cannot show the set.

        Raises:
            Exception: What the client raises where the viewer does not answer.
            NotKept: Without a network.
        """
        answer = self._answers.get(f"view {name}", lambda: msgspec.to_builtins(_view(name)))
        return msgspec.convert(answer, Viewed | None)


def _view(name: str) -> Viewed | None:
    splits = _viewer("splits", dataset=name)
    if not splits or not splits.get("splits"):
        return None
    chosen = next(
        (one for one in splits["splits"] if str(one.get("split", "")).startswith("train")), splits["splits"][0]
    )
    place = {"config": chosen["config"], "split": chosen["split"]}
    size = _viewer("size", dataset=name, config=chosen["config"]) or {}
    first = _viewer("first-rows", dataset=name, **place) or {}
    measured = next((one for one in size.get("size", {}).get("splits", []) if one.get("split") == chosen["split"]), {})
    rows = [one["row"] for one in first.get("rows", []) if not one.get("truncated_cells")]
    return Viewed(
        **place,
        rows=measured.get("estimated_num_rows") or measured.get("num_rows"),
        rows_at_least=bool(size.get("partial")) and not measured.get("estimated_num_rows"),
        bytes=size.get("size", {}).get("config", {}).get("num_bytes_original_files"),
        columns={one["name"]: _type(one["type"]) for one in first.get("features", [])},
        first_rows=rows[:ROWS_ASKED],
    )


def _viewer(path: str, **parameters: str) -> Any:
    """The viewer's answer; `None` where it has none for this set (404, 422, 501, or not allowed to see it)."""
    from huggingface_hub import constants
    from huggingface_hub.utils import build_hf_headers, hf_raise_for_status, http_backoff

    base = os.environ.get("ALULA_DATASET_VIEWER", constants.DATASETS_SERVER_ENDPOINT)
    response = http_backoff("GET", f"{base}/{path}", params=parameters, headers=build_hf_headers())
    if response.status_code in (401, 403, 404, 422, 500, 501):
        return None
    hf_raise_for_status(response)
    return response.json()


def _type(feature: Any) -> str:
    if isinstance(feature, dict):
        return str(feature.get("dtype") or ("list" if "feature" in feature else feature.get("_type", "object"))).lower()
    return "list"


def _listed(info: Any) -> Listed:
    card = info.card_data.to_dict() if info.card_data is not None else {}
    told = card.get("dataset_info") or {}
    told = told[0] if isinstance(told, list) and told else told
    splits = told.get("splits", []) if isinstance(told, dict) else []
    licence = card.get("license")
    return Listed(
        id=info.id,
        downloads=info.downloads,
        modified_at=info.last_modified.timestamp() if info.last_modified else None,
        gated=info.gated,
        private=bool(info.private),
        tags=tuple(str(tag) for tag in info.tags or ())[:100],
        licence=", ".join(map(str, licence)) if isinstance(licence, list) else (str(licence) if licence else None),
        languages=_texts(card.get("language")),
        configs=tuple(str(one.get("config_name")) for one in card.get("configs") or () if isinstance(one, dict)),
        rows_of_card=sum(int(one.get("num_examples") or 0) for one in splits if isinstance(one, dict)) or None,
        bytes_of_card=told.get("download_size") if isinstance(told, dict) else None,
    )


def _texts(value: Any) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else tuple(str(one) for one in value or ())
