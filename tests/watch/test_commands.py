"""What an operator may type for a server's address, and which servers may be forgotten."""

import asyncio
from pathlib import Path
from sqlite3 import Connection
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.commands import Request
from engine.context import EngineContext, Refusal
from engine.watch.commands import add, normal_url, remove
from state.database import open_database
from state.folder import StateFolder
from state.records.servers import Server
from state.servers import read_servers, write_servers


@pytest.fixture
def database(tmp_path: Path) -> Connection:
    return open_database(tmp_path / "state.db")


def request(database: Connection, url: str) -> Request:
    context = EngineContext(StateFolder(path=Path("/")), stopping=asyncio.Event(), jobs_changed=asyncio.Event())
    arguments: dict[str, Any] = {"url": url}
    return Request(database, arguments, context, 1000.0)


@pytest.mark.parametrize(
    ("typed", "url"),
    [
        ("http://10.0.0.7:30000", "http://10.0.0.7:30000"),
        ("10.0.0.7:30000", "http://10.0.0.7:30000"),
        (" https://llm.example.org/v1 ", "https://llm.example.org"),
        ("http://user:secret@h:1/metrics?x#y", "http://h:1"),
        ("http://[::1]:30000", "http://[::1]:30000"),
    ],
)
def test_addresses(typed: str, url: str) -> None:
    assert normal_url(typed) == url


@pytest.mark.parametrize(
    "typed", ["", "http://", "ftp://h", "http://h:99999", "a b", "http://[::1", "file:///etc/passwd"]
)
def test_what_is_no_address(typed: str) -> None:
    with pytest.raises(Refusal, match="no server's address"):
        normal_url(typed)


@given(st.text(max_size=40))
def test_whatever_is_typed_gives_an_address_or_a_refusal(typed: str) -> None:
    try:
        assert normal_url(normal_url(typed)) == normal_url(typed)
    except Refusal as refusal:
        assert refusal.remedy


def test_a_server_that_runs_here_is_not_forgotten(database: Connection) -> None:
    found = Server(url="http://127.0.0.1:1", found_by="process", seen_at=0, health="up")
    write_servers(database, [found])
    with pytest.raises(Refusal, match="found again"):
        remove(request(database, found.url))
    assert add(request(database, found.url))["added"] is False
    assert [server.url for server in read_servers(database)] == [found.url]
