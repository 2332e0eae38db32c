"""A regeneration whose workers are jobs of a real Slurm or Ray: they report through their folders, and are one run."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import msgspec
import pytest

from engine.regen.export import export_run
from engine.regen.plan import read_plan
from engine.regen.verify import verify_run
from state.database import open_database
from state.fleets import read_whole
from state.records.views import RegenerationRow
from tests.jobs.conftest import Host, wait_until
from tests.regen.conftest import ScriptedServer, served

pytestmark = pytest.mark.timeout(400)
PLACES = [
    pytest.param(name, marks=[getattr(pytest.mark, name), pytest.mark.xdist_group(name)]) for name in ("slurm", "ray")
]


@pytest.fixture
def answering() -> Iterator[ScriptedServer]:
    """A server in a thread of this process."""
    found: list[ScriptedServer] = []
    over = threading.Event()

    async def serve() -> None:
        async with served() as server:
            found.append(server)
            await asyncio.to_thread(over.wait)

    thread = threading.Thread(target=lambda: asyncio.run(serve()))
    thread.start()
    wait_until(lambda: found, "the server")
    yield found[0]
    over.set()
    thread.join(30)


def whole(host: Host) -> RegenerationRow:
    with closing(open_database(host.client.folder.database_path)) as database:
        row = read_whole(database, "fleet")
    assert row is not None
    return row


@pytest.mark.parametrize("place", PLACES)
def test_two_shards_are_one_run(place: str, answering: ScriptedServer, request: pytest.FixtureRequest) -> None:
    host: Host = request.getfixturevalue(f"{place}_host")
    source = host.path / "prompts.jsonl"
    source.write_bytes(b"\n".join(msgspec.json.encode({"id": f"p{n}", "prompt": f"question {n}"}) for n in range(40)))
    arguments = {
        "inputs": [str(source)], "server_url": answering.url, "model": "scripted", "name": "fleet", "concurrency": 4,
        "shards": 2, "on": address_of(place, request),
    }  # fmt: skip
    jobs = host.client.ask("regen.start", arguments)["job_ids"]
    wait_until(lambda: whole(host).run.state != "running", "both shards to end")
    row = whole(host)
    assert (row.run.state, row.run.total) == ("done", 40), row.run.message
    assert row.progress is not None and row.progress.done == 40
    assert set(answering.asked.values()) == {1}
    assert [host.wait_for(job_id).backend for job_id in jobs] == [place, place]
    folder = Path(row.run.run_folder)
    manifest = export_run(folder, read_plan(folder))
    assert verify_run(folder, Path(manifest.file)).problems == ()


def address_of(place: str, request: pytest.FixtureRequest) -> str:
    return "slurm" if place == "slurm" else str(request.getfixturevalue("ray").address)
