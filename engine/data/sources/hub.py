"""Rows of a hub data set, streamed: nothing is downloaded that is not read, and no code of the data set is run."""

import os
from collections.abc import Iterator
from http import HTTPStatus
from typing import Any

from engine.data.records import Raw, Source, SourceError

TIMEOUT_S = 30.0


def read_hub(source: Source, skip: int = 0) -> Iterator[Raw]:
    """Rows of one split in their order after the first `skip`.

    Raises:
        SourceError: The set is unknown, gated, needs code of its own, or the hub does not answer.
    """
    os.environ.setdefault("HF_HUB_DOWNLOAD_TIMEOUT", f"{TIMEOUT_S:.0f}")
    try:
        yield from _stream(source).skip(skip)
    except SourceError:
        raise
    except Exception as error:
        raise explain_hub_error(source, error) from error


def pinned(source: Source) -> Source:
    """The same source at the commit that its revision stands for now, so that it cannot change while it is read.

    Raises:
        SourceError: The hub does not know it, or does not answer.
    """
    import msgspec
    from huggingface_hub import HfApi

    assert source.hub is not None
    try:
        info = HfApi().dataset_info(source.hub, revision=source.revision, timeout=TIMEOUT_S)
    except Exception as error:
        raise explain_hub_error(source, error) from error
    return msgspec.structs.replace(source, revision=info.sha)


def explain_hub_error(source: Source, error: Exception) -> SourceError:
    """What an error of the hub libraries means for the operator."""
    kinds = {type(one).__name__ for one in _chain(error)}
    text = str(error).splitlines()[0][:300] if str(error) else type(error).__name__
    name = source.hub or "?"
    if kinds & {"GatedRepoError"} or "is a gated dataset" in text:
        return SourceError(
            f"{name} is gated", f"accept its terms at https://huggingface.co/datasets/{name}, then set HF_TOKEN"
        )
    if kinds & {"RepositoryNotFoundError", "DatasetNotFoundError"}:
        return SourceError(f"{name} is unknown, or private", "check the name; set HF_TOKEN where it is private")
    if kinds & {"RevisionNotFoundError"}:
        return SourceError(f"{name} has no revision {source.revision}", "give a commit, branch or tag that exists")
    if "scripts are no longer supported" in text or "trust_remote_code" in text:
        return SourceError(
            f"{name} is read by a script of its own, which is never run",
            "give revision = 'refs/convert/parquet', or another copy of the set",
        )
    if isinstance(error, ValueError) and ("config" in text.lower() or "split" in text.lower()):
        return SourceError(f"{source.label}: {text}", "give --config and --split that the set has")
    if HTTPStatus.TOO_MANY_REQUESTS in map(_status, _chain(error)):
        return SourceError(f"the hub refuses for now (429): {text}", "wait some minutes, set HF_TOKEN, and go on")
    return SourceError(f"cannot read {source.label}: {text}", "check the network (HF_ENDPOINT, proxies) and go on")


def _stream(source: Source) -> Any:
    from datasets import load_dataset
    from huggingface_hub.utils.tqdm import disable_progress_bars

    disable_progress_bars()
    found = load_dataset(source.hub, source.config, split=source.split, revision=source.revision, streaming=True)
    if source.split is None:
        splits = list(found)
        if len(splits) > 1:
            raise SourceError(f"{source.hub} has the splits {', '.join(splits)}", "choose one: --split")
        found = found[splits[0]]
    return found


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _status(error: BaseException) -> int | None:
    """Of the answer that an error is about: httpx and huggingface_hub keep the answer, aiohttp its status alone."""
    status = getattr(getattr(error, "response", None), "status_code", None) or getattr(error, "status", None)
    return status if isinstance(status, int) else None
