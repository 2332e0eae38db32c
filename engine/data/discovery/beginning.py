"""Begins a search, or goes on with one that did not come to its end."""

import re
import sqlite3
import time
from pathlib import Path

import msgspec

from engine.data.discovery.search import SearchRequest
from engine.data.prepare.parts import write_whole
from state.data import add_search, find_search, update_search
from state.records.data import DataSearch

REQUEST = "request.json"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,59}")


class SearchError(Exception):
    """A search cannot begin. `remedy` says what to do."""

    def __init__(self, message: str, remedy: str) -> None:
        super().__init__(message)
        self.remedy = remedy


def begin_search(database: sqlite3.Connection, runs: Path, request: SearchRequest) -> DataSearch:
    """The search's row and folder. One of the same name that was stopped is gone on with.

    Raises:
        SearchError: The name cannot be used.
        OSError: The folder cannot be written.
    """
    if not _NAME.fullmatch(request.name):
        raise SearchError(
            f"the name {request.name!r} cannot be used", "letters, digits, dot, dash and underscore, 60 at most"
        )
    known = find_search(database, request.name)
    if known is not None and known.state != "done":
        update_search(database, known.id, state="running", message="", ended_at=None)
        search = msgspec.structs.replace(known, state="running", message="", ended_at=None)
    else:
        now = time.time()
        folder = runs / f"search-{request.name}-{time.strftime('%Y%m%dT%H%M%S', time.gmtime(now))}"
        search = DataSearch(name=request.name, run_folder=str(folder), created_at=now)
        search = msgspec.structs.replace(search, id=add_search(database, search))
    folder = Path(search.run_folder)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    write_whole(folder / REQUEST, msgspec.json.format(msgspec.json.encode(request), indent=1))
    return search


def kept_request(folder: Path) -> SearchRequest:
    """The request that a search was begun with.

    Raises:
        SearchError: It cannot be read.
    """
    try:
        return msgspec.json.decode((folder / REQUEST).read_bytes(), type=SearchRequest)
    except (OSError, msgspec.DecodeError, RecursionError) as error:
        raise SearchError(f"{folder} holds no search: {error}", "begin one: alula data search") from error
