"""What is read piece by piece is what a whole read gives."""

import random
from contextlib import closing
from pathlib import Path

import pytest

from console.feed import jobs_reader
from console.feed.jobs_reader import JobsReader
from state.database import open_database
from state.jobs import add_job, move, read_jobs, request_stop
from state.records.jobs import Job


def job(number: int) -> Job:
    return Job(name=f"j{number}", kind="x", argv=("x",), working_dir="/", run_folder="/r", created_at=float(number))


def test_the_newest_come_first_then_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs_reader, "FIRST", 3)
    with closing(open_database(tmp_path / "db")) as database:
        for number in range(10):
            job_id = add_job(database, job(number))
            move(database, job_id, ["queued"], "stopped", 1.0)
        reader = JobsReader()
        assert [one.id for one in reader(database)] == [10, 9, 8] and reader.unfinished
        assert [one.id for one in reader(database)] == list(range(10, 0, -1)) and not reader.unfinished


@pytest.mark.parametrize("seed", range(5))
def test_changes_are_seen_and_nothing_else_is_made_anew(tmp_path: Path, seed: int) -> None:
    dice = random.Random(seed)
    with closing(open_database(tmp_path / "db")) as database:
        reader = JobsReader()
        for number in range(80):
            before = reader(database)
            known = {one.id: one for one in before}
            for _ in range(dice.randint(0, 3)):
                what, chosen = dice.randint(0, 5), dice.randint(1, number + 1)
                if what <= 1:
                    add_job(database, job(number))
                elif what == 2:
                    move(database, chosen, ["queued"], "running", 1.0, pid=number)
                elif what == 3:
                    move(database, chosen, ["queued", "running"], "done", 2.0, exit_code=0)
                elif what == 4:
                    request_stop(database, chosen, 3.0)
                else:
                    database.execute("DELETE FROM job_event WHERE job_id = 1")
                    database.execute("DELETE FROM job WHERE id = 1")
            after = reader(database)
            assert list(after) == read_jobs(database, 1000)
            assert all(known[one.id] is one for one in after if known.get(one.id) == one)
            assert (after is before) == (after == before)
