"""Questions to the hub: lists of data sets, and one set in full, through huggingface_hub's own client."""

import os
from collections.abc import Callable, Iterable
from typing import Any, Literal, TypeVar

import msgspec

from engine.data.discovery.answers import Answers, Unanswered
from engine.data.discovery.gate import HubGone
from engine.data.discovery.viewer import Viewed, view

Field = Literal["author", "cardData", "createdAt", "downloads", "gated", "lastModified", "private", "tags"]
EXPANDED: list[Field] = ["author", "cardData", "createdAt", "downloads", "gated", "lastModified", "private", "tags"]
TAGS_KEPT = 100
Answer = TypeVar("Answer")


class Listed(msgspec.Struct, frozen=True, kw_only=True):
    """A data set as the hub lists it."""

    id: str
    downloads: int | None = None
    """In the last 30 days."""
    modified_at: float | None = None
    gated: str | bool | None = None
    """`auto`: granted at once; `manual`: its authors decide; false: open."""
    private: bool = False
    tags: tuple[str, ...] = ()
    licence: str | None = None
    languages: tuple[str, ...] = ()
    rows_of_card: int | None = None
    bytes_of_card: int | None = None


class Hub:
    """The hub, as far as it is not kept here already."""

    def __init__(self, answers: Answers) -> None:
        self._answers = answers
        self._endpoint = os.environ.get("HF_ENDPOINT") or None

    def list(
        self, *, search: str | None = None, tags: tuple[str, ...] = (), author: str | None = None, limit: int
    ) -> list[Listed]:
        """Data sets that match, the most downloaded first. Several tags must all hold.

        Raises:
            Unanswered: Neither the hub nor what is kept answers.
        """

        def ask() -> Any:
            found = self._api().list_datasets(
                search=search, filter=tags or None, author=author, sort="downloads", limit=limit,
                expand=list(EXPANDED),
            )  # fmt: skip
            return [msgspec.to_builtins(_listed(one)) for one in found]

        question = f"list search={search} tags={','.join(tags)} author={author} limit={limit}"
        found: list[Listed] = self._get(question, ask, list[Listed])
        return found

    def info(self, name: str) -> Listed | None:
        """One set; `None` where the hub knows none of this name, or hides it.

        Raises:
            Unanswered: Neither the hub nor what is kept answers.
        """
        from huggingface_hub.errors import GatedRepoError, RepositoryNotFoundError

        def ask() -> Any:
            try:
                return msgspec.to_builtins(_listed(self._api().dataset_info(name)))
            except GatedRepoError:
                return msgspec.to_builtins(Listed(id=name, gated="manual"))
            except RepositoryNotFoundError:
                return None

        found: Listed | None = self._get(f"info {name}", ask, Listed | None)
        return found

    def view(self, name: str) -> Viewed | None:
        """Size and first rows; `None` where the viewer cannot show the set.

        Raises:
            Unanswered: Neither the viewer nor what is kept answers.
        """
        found: Viewed | None = self._get(f"view {name}", lambda: msgspec.to_builtins(view(name)), Viewed | None)
        return found

    def _get(self, question: str, ask: Callable[[], Any], kind: Any) -> Any:
        def checked() -> Any:
            answer = ask()
            msgspec.convert(answer, kind)
            return answer

        return msgspec.convert(self._answers.get(question, lambda: told(checked)), kind)

    def _api(self) -> Any:
        from huggingface_hub import HfApi

        return HfApi(endpoint=self._endpoint)


def told(ask: Callable[[], Answer]) -> Answer:
    """Ask, and turn whatever huggingface_hub and the answer's content can raise into one error.

    Raises:
        Unanswered: There is no answer, or none that can be read.
    """
    from huggingface_hub.errors import HfHubHTTPError

    try:
        return ask()
    except HubGone as error:
        raise Unanswered(str(error)) from error
    except HfHubHTTPError as error:
        raise Unanswered(f"the hub answers {error.response.status_code}") from error
    except (msgspec.MsgspecError, ValueError, TypeError, KeyError, AttributeError, OSError, RecursionError) as error:
        raise Unanswered(f"its answer cannot be read: {type(error).__name__}: {str(error)[:120]}") from error


def _listed(info: Any) -> Listed:
    card = info.card_data.to_dict() if info.card_data is not None else {}
    described = card.get("dataset_info") or {}
    described = described[0] if isinstance(described, list) and described else described
    described = described if isinstance(described, dict) else {}
    splits = [one for one in described.get("splits") or () if isinstance(one, dict)]
    licence = ", ".join(_texts(card.get("license")))
    size = described.get("download_size")
    return Listed(
        id=str(info.id),
        downloads=info.downloads,
        modified_at=info.last_modified.timestamp() if info.last_modified else None,
        gated=info.gated,
        private=bool(info.private),
        tags=_texts(info.tags)[:TAGS_KEPT],
        licence=licence or None,
        languages=_texts(card.get("language")),
        rows_of_card=sum(_number(one.get("num_examples")) for one in splits) or None,
        bytes_of_card=_number(size) or None,
    )


def _texts(value: Any) -> tuple[str, ...]:
    if isinstance(value, str):
        return (value,)
    return tuple(str(one) for one in value) if isinstance(value, Iterable) else ()


def _number(value: Any) -> int:
    return value if isinstance(value, int) else 0
