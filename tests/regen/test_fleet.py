"""A run split over several workers: every sample in exactly one of them, one progress, one export, one proof."""

import asyncio
import json
import sys
from pathlib import Path

import msgspec
import pytest

from engine.regen.export import export_run
from engine.regen.plan import take_in_inputs, write_plan
from engine.regen.records import Plan
from engine.regen.reports import Reports
from engine.regen.run import Run
from engine.regen.shards import Shard, shard_folder, shard_folders
from engine.regen.store import Store
from engine.regen.verify import verify_run
from engine.regen.whole import Whole
from state.database import open_database
from state.fleets import read_whole
from state.records.regeneration import Regeneration
from state.regenerations import add_regeneration
from tests.regen.conftest import ScriptedServer, make_run
from tests.regen.test_commands import Shell, alula, answers_in, prompts_file, true_answers
from tests.regen.test_faults import answers, until

__all__ = ["alula"]
SHARDS = 3
SOME_SHARDS = [Shard(number, SHARDS) for number in range(1, SHARDS + 1)]
PROMPTS = [f"question {number}" for number in range(60)]


def make_fleet(tmp_path: Path, url: str, prompts: list[str], count: int = SHARDS) -> tuple[Path, Plan]:
    """A fleet's folder whose shards have read their inputs."""
    _, plan = make_run(tmp_path, url, prompts)
    fleet = tmp_path / "fleet"
    write_plan(fleet, plan)
    for number in range(1, count + 1):
        shard = Shard(number, count)
        own = msgspec.structs.replace(plan, shard=shard)
        write_plan(shard_folder(fleet, shard), own)
        store = Store(shard_folder(fleet, shard))
        take_in_inputs(own, store)
        store.close()
    return fleet, plan


async def answered(fleet: Path, plan: Plan) -> None:
    for number, folder in enumerate(shard_folders(fleet), 1):
        run = Run(folder, msgspec.structs.replace(plan, shard=Shard(number, SHARDS)))
        await asyncio.wait_for(run.work(asyncio.Event()), 60)


async def test_the_shards_are_a_partition_and_their_export_is_the_whole(tmp_path: Path, server: ScriptedServer) -> None:
    fleet, plan = make_fleet(tmp_path, server.url, PROMPTS)
    await answered(fleet, plan)
    totals = [Store(folder, read_only=True).tally().total for folder in shard_folders(fleet)]
    assert sum(totals) == 60 and all(totals)
    manifest = export_run(fleet, plan)
    assert (manifest.answered, manifest.shards, manifest.files["train"].rows) == (60, SHARDS, 60)
    assert set(server.asked.values()) == {1}
    assert verify_run(fleet, Path(manifest.file)).problems == ()


@pytest.mark.parametrize("harm", ["a shard is missing", "a sample of another shard", "other inputs", "order"])
async def test_what_is_no_whole_is_found(harm: str, tmp_path: Path, server: ScriptedServer) -> None:
    fleet, plan = make_fleet(tmp_path, server.url, PROMPTS)
    await answered(fleet, plan)
    file = Path(export_run(fleet, plan).file)
    first, second, third = shard_folders(fleet)
    store = Store(second)
    if harm == "a shard is missing":
        third.rename(fleet / "elsewhere")
    elif harm == "a sample of another shard":
        strange = next(name for name in Store(first, read_only=True).prompt_ids())
        store.database.execute("UPDATE sample SET id = ? WHERE number = 1", [strange])
    elif harm == "other inputs":
        store.database.execute("UPDATE source SET sha256 = 'other'")
    else:
        second.rename(fleet / "away")
        first.rename(second)
        (fleet / "away").rename(first)
    store.close()
    assert Whole(fleet).problems() and verify_run(fleet, file).problems


def test_what_cannot_be_used_is_told_once(tmp_path: Path) -> None:
    fleet, plan = make_fleet(tmp_path, "http://127.0.0.1:1", ["one", "one", ""])
    assert sum(Whole(folder).tally().rejected for folder in shard_folders(fleet)) == Whole(fleet).tally().rejected == 1
    assert export_run(fleet, plan).rejected == 1


@pytest.mark.parametrize("limit", [1, 10, 1000])
def test_a_limit_is_of_the_whole_fleet(limit: int, tmp_path: Path) -> None:
    """Of two files, with records that come again and others that cannot be used, as one run takes them."""
    files = [tmp_path / "a.jsonl", tmp_path / "b.jsonl"]
    for file in files:
        ids = [0, 0, *range(8), 3, *range(20, 30)]
        file.write_text("{\n" + "\n".join(json.dumps({"id": name, "prompt": f"{file.stem} {name}"}) for name in ids))
    _, plan = make_run(tmp_path, "http://127.0.0.1:1", ["unused"])
    plan = msgspec.structs.replace(plan, inputs=tuple(map(str, files)), limit=limit, samples=2)
    alone = tmp_path / "alone"
    fleet = tmp_path / "fleet"
    for folder, shard in ((alone, None), *((shard_folder(fleet, one), one) for one in SOME_SHARDS)):
        own = msgspec.structs.replace(plan, shard=shard)
        write_plan(folder, own)
        store = Store(folder)
        take_in_inputs(own, store)
        store.close()
    assert sorted(sample_ids(fleet)) == sorted(sample_ids(alone))
    assert Whole(fleet).tally().rejected == Whole(alone).tally().rejected
    assert Whole(fleet).problems() == []


def sample_ids(folder: Path) -> list[str]:
    stores = [Store(one, read_only=True) for one in shard_folders(folder)]
    return [name for store in stores for name in store.names(range(1, 1 + store.tally().total)).values()]


async def test_a_fleet_by_commands(alula: Shell, tmp_path: Path, server: ScriptedServer) -> None:
    server.always["question 7"] = answers(400, b"no")
    source = prompts_file(tmp_path, PROMPTS)
    given = ("start", source, "--server", server.url, "--name", "large", "--shards", "3")
    assert "no place to run" in await alula(*given, "--on", "moon", code=2)
    started = await alula.json(*given, "--concurrency", "9", "--wait", code=1)
    assert len(started["job_ids"]) == 3
    status = await alula.json("status", "large", code=1)
    assert (status["progress"]["done"], status["run"]["total"], status["run"]["state"]) == (59, 60, "done")
    assert [one["run"]["name"] for one in status["shards"]] == ["large.1of3", "large.2of3", "large.3of3"]
    assert (await alula.json("list"))[0]["run"]["name"] == "large"
    assert (await alula.json("failures", "large", code=1))[0]["example"] == "question 7"
    assert (await alula.json("tune", "large", "--concurrency", "12"))["concurrency"] == 12
    server.always.clear()
    assert (await alula.json("retry", "large"))["count"] == 1
    await until(lambda: server.asked["question 7"] == 2)
    await wait_for_done(alula)
    output = tmp_path / "train.jsonl"
    await alula("export", "large", "--output", str(output))
    assert sorted(answers_in(str(output))) == sorted(true_answers(PROMPTS))
    assert (await alula.json("verify", "large", str(output)))["problems"] == []
    output.write_text(output.read_text().replace("answer", "anewer", 1))
    assert "NOT SOUND" in await alula("verify", "large", str(output), code=1)


async def wait_for_done(alula: Shell) -> None:
    async with asyncio.timeout(60):
        while (await alula.json("status", "large", code=0))["run"]["state"] != "done":  # noqa: ASYNC110
            await asyncio.sleep(0.2)


async def test_a_worker_on_another_host_reports_through_its_folder(
    tmp_path: Path, server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ALULA_HOME", str(tmp_path / "home"))
    folder, plan = make_run(tmp_path, server.url, PROMPTS)
    (folder / "plan.json").write_bytes(msgspec.json.encode(msgspec.structs.replace(plan, on="ray://10.0.0.1")))
    worker = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "engine.regen.worker", str(folder), stdout=asyncio.subprocess.DEVNULL
    )
    assert await asyncio.wait_for(worker.wait(), 60) == 0
    assert not (tmp_path / "home").exists()
    database = open_database(tmp_path / "state.sqlite")
    run = Regeneration(
        name="far", run_folder=str(folder), inputs=plan.inputs, server_url=plan.server_url, concurrency=0, total=0,
        created_at=0.0,
    )  # fmt: skip
    number = add_regeneration(database, run)
    reports = Reports()
    assert reports.take(database, msgspec.structs.replace(run, id=number))
    row = read_whole(database, "far")
    assert row is not None and row.progress is not None and row.detail is not None
    assert (row.run.state, row.run.total, row.progress.done) == ("done", 60, 60)
    assert not reports.take(database, msgspec.structs.replace(run, id=number))
    database.close()
