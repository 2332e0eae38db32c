"""A row that another release wrote, or that is damaged: it is said which one, where, and what to do."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import pytest

from console.feed.reader import Feed
from engine.commands import obey
from engine.context import EngineContext
from engine.handlers import HANDLERS
from state import rows
from state.bench import read_benches
from state.commands import add_command, open_commands, read_command
from state.database import open_database
from state.errors import StateError
from state.folder import StateFolder, make_private
from state.jobs import read_job, read_jobs
from state.records.bench import Bench
from state.records.commands import Command
from state.records.jobs import Job

DAMAGE = {
    ("job", "schedule", '{"planet": 1}'): "unknown field `planet` - at `$.schedule`",
    ("job", "argv", '["cut'): "truncated - at `$.argv`",
    ("job", "state", "levitating"): "'levitating' - at `$.state`",
    ("bench", "kind", "7"): "'7' - at `$.kind`",
}


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Any]:
    folder = StateFolder(path=make_private(tmp_path / "home"))
    with closing(open_database(folder.database_path)) as database:
        job = Job(name="a", kind="command", argv=("true",), working_dir="/", run_folder="/x", created_at=1.0)
        for name in "ab":
            rows.insert(database, "job", msgspec.structs.replace(job, name=name))
        bench = Bench(name="a", kind="run", run_folder="/b", points=1, cells=1, created_at=1.0)
        rows.insert(database, "bench", bench)
        yield folder, database


@pytest.mark.parametrize(("damage", "words"), DAMAGE.items(), ids=[f"{one[0]}.{one[1]}" for one in DAMAGE])
def test_it_is_said_which_row_and_what_to_do(damage: tuple[str, str, str], words: str, home: Any) -> None:
    folder, database = home
    table, column, value = damage
    database.execute(f"UPDATE {table} SET {column} = ? WHERE id = 1", [value])
    with pytest.raises(StateError) as caught:
        read_jobs(database) if table == "job" else read_benches(database)
    assert str(caught.value).startswith(f"{table} 1 in {folder.database_path} cannot be read: ")
    assert words in str(caught.value) and "backups" in caught.value.remedy


def test_the_others_can_be_read(home: Any) -> None:
    _, database = home
    database.execute("UPDATE job SET argv = '{' WHERE id = 1")
    assert read_job(database, 2) is not None


def test_the_engine_refuses_what_needs_it(home: Any) -> None:
    import asyncio

    folder, database = home
    database.execute("UPDATE job SET argv = '{' WHERE id = 1")
    number = add_command(database, Command(kind="jobs.stop", arguments={"job_id": 1}, issued_by="t", issued_at=1.0))
    context = EngineContext(folder=folder, stopping=asyncio.Event(), jobs_changed=asyncio.Event())
    obey(database, open_commands(database)[0], HANDLERS, context)
    answered = read_command(database, number)
    assert answered is not None and answered.outcome == "refused" and "job 1 in" in str(answered.answer)


def test_a_screen_says_it_once_and_shows_its_other_tables(home: Any) -> None:
    _, database = home
    database.execute("UPDATE bench SET kind = 'x'")
    told: list[str] = []
    failed: list[str] = []
    feed = Feed(Path(), lambda topic, _: told.append(topic), failed.append)
    readers = {"benches": read_benches, "jobs": read_jobs}
    for _ in range(2):
        feed._look(database, readers, frozenset(readers))
    assert told == ["jobs"] and len(failed) == 1 and "bench 1 in" in failed[0]
    database.execute("UPDATE bench SET kind = 'run'")
    feed._look(database, readers, frozenset(readers))
    assert told == ["jobs", "benches"]
