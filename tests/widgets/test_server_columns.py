"""The table of servers: what a server told last is not shown as what it does now."""

import time

import pytest

from state.records.servers import Server, ServerSample
from state.records.views import ServerRow
from widgets.figures import ABSENT
from widgets.line import plain
from widgets.servers.columns import SERVER_COLUMNS

URL = "http://127.0.0.1:30000"


def shown(health: str) -> dict[str, str]:
    now = time.time()
    server = Server(url=URL, found_by="url", seen_at=now, health=health)  # type: ignore[arg-type]
    sample = ServerSample(url=URL, taken_at=now, accept_length=2.1, tokens_per_s=1650.0, running_requests=3)
    row = ServerRow(server=server, sample=sample, trend=())
    return {column.title: plain(column.cell(row)) for column in SERVER_COLUMNS}


@pytest.mark.parametrize("title", ["Accept", "Tokens/s", "Run"])
def test_a_server_that_is_away_shows_no_figures(title: str) -> None:
    assert shown("up")[title] != ABSENT
    assert shown("down")[title] == ABSENT
