"""Recordings: made from a database, scrubbed, and played in place of a host."""

import asyncio
import gzip
import sqlite3
import threading
import time
from pathlib import Path

import msgspec
import pytest

from engine.watch.readings import Board, Readings, merge
from engine.watch.recorder import record
from engine.watch.recording import Line, RecordingError, open_for_writing, read_lines, shifted, write_line
from engine.watch.replay import check_recording, replay
from engine.watch.scrub import Scrubber
from engine.watch.writer import write
from state.database import open_database
from state.gpus import read_events
from state.records.gpus import Gpu, GpuEvent, GpuProcess, GpuSample
from state.records.servers import Server, ServerEvent, ServerSample
from state.servers import read_server_events
from tests.watch.test_servers import eventually
from tests.watch.test_state import host_sample

UUID, URL = "GPU-82c2dad7-f3b2-abe8-56c8-1a1a095adfd1", "http://gpu-host-7.example.org:30000"
SECRETS = ("82c2dad7", "gpu-host-7", "example.org", "alice", "secret", "4242424", "/home")


def readings(at: float) -> Readings:
    return Readings(
        gpus=(Gpu(uuid=UUID, index=0, name="NVIDIA H200", pci_bus_id="00000000:18:00.0", seen_at=at),),
        gpu_samples=(GpuSample(uuid=UUID, taken_at=at, utilization_percent=97, power_w=690.5),),
        gpu_processes=(GpuProcess(uuid=UUID, pid=4242424, taken_at=at, memory_bytes=7, user="alice", started_at=at - 60,
                                  command="/home/alice/venv/bin/python train.py --token secret"),),
        gpu_events=(GpuEvent(uuid=UUID, at=at, kind="xid", code=31, message=f"{UUID} at /home/alice/x"),),
        host=host_sample(at),
        servers=(Server(url=URL, found_by="url", seen_at=at, health="up", model="/home/alice/secret-x/Qwen3-8B",
                        flags={"model_path": "/home/alice/models/Qwen3-8B", "random_seed": 4242424, "tp_size": 4}),),
        server_samples=(ServerSample(url=URL, taken_at=at, accept_length=2.5),),
    )  # fmt: skip


def test_scrubbing_leaves_figures_and_takes_names() -> None:
    scrubbed = Scrubber().readings(readings(1000.0))
    text = repr(scrubbed)
    assert not [secret for secret in SECRETS if secret in text]
    assert scrubbed.gpus[0].uuid == scrubbed.gpu_samples[0].uuid == scrubbed.gpu_processes[0].uuid
    assert scrubbed.servers[0].url == scrubbed.server_samples[0].url == "http://host1:30000"
    assert (scrubbed.servers[0].model, scrubbed.servers[0].flags["tp_size"]) == ("Qwen3-8B", 4)
    assert scrubbed.gpu_processes[0].command == "python" and scrubbed.gpu_processes[0].user == "user1"
    assert scrubbed.gpu_samples[0].power_w == 690.5


@pytest.mark.parametrize("name", ["r.jsonl", "r.jsonl.gz"])
def test_a_database_is_recorded_and_played_back(tmp_path: Path, name: str) -> None:
    database = open_database(tmp_path / "state.db")
    path = tmp_path / name
    began = time.time()
    add_given_server(database, began)
    ended = threading.Event()

    def work() -> None:
        with sqlite3.connect(tmp_path / "state.db", isolation_level=None) as other:
            while not ended.wait(0.2):
                write(other, readings(time.time()))

    write(database, readings(began))
    writer = threading.Thread(target=work)
    writer.start()
    try:
        assert record(database, path, 2.5) >= 3
    finally:
        ended.set()
        writer.join()
    lines = list(read_lines(path))
    assert len(lines[0].readings.gpus) == 1 and lines[0].readings.servers
    assert all(line.readings.gpu_samples for line in lines)
    assert not [secret for secret in SECRETS if secret in repr(lines)]
    assert 0 < check_recording(path) < 10


async def test_replay_moves_times_to_now_and_begins_anew_at_the_end(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    with open_for_writing(path) as file:
        for second in (0.0, 0.2):
            write_line(file, Line(second, readings(1000.0 + second)))
    board, seen = Board(), Readings()
    task = asyncio.create_task(replay(path, board))

    def three_samples() -> bool:
        nonlocal seen
        seen = merge(seen, board.take())
        return len(seen.gpu_samples) >= 3

    await eventually(three_samples)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    times = [sample.taken_at for sample in seen.gpu_samples]
    assert times == sorted(times) and abs(times[-1] - time.time()) < 30
    assert seen.gpu_processes and seen.gpu_processes[0].started_at == pytest.approx(times[-1] - 60, abs=1)


async def test_events_of_a_second_turn_stand_beside_those_of_the_first(tmp_path: Path) -> None:
    path, board, database = tmp_path / "r.jsonl", Board(), open_database(tmp_path / "state.db")
    with open_for_writing(path) as file:
        event = ServerEvent(id=7, url=URL, at=1000.0, kind="up", message="answers")
        write_line(file, Line(0.0, msgspec.structs.replace(readings(1000.0), server_events=(event,))))
    for _ in range(2):
        await replay(path, board, turns=1)
        write(database, board.take())
    events = [*read_server_events(database), *read_events(database)]
    assert len(events) == len({(type(one), one.id) for one in events}) == 4
    database.close()


def test_shifting_moves_every_time_and_nothing_else() -> None:
    there_and_back = shifted(shifted(readings(1000.0), 5.0), -5.0)
    assert there_and_back == readings(1000.0)
    assert shifted(readings(1000.0), 5.0).gpu_samples[0].taken_at == 1005.0


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "no readings"),
        (b"{}\n", "line 1"),
        (b"\x00\xff", "line 1"),
        (b'{"at_s": 0, "readings": {}}\n{"at', "line 2"),
    ],
)
def test_what_is_no_recording_is_refused_with_its_line(tmp_path: Path, content: bytes, words: str) -> None:
    path = tmp_path / "bad.jsonl"
    path.write_bytes(content)
    with pytest.raises(Exception, match=words) as raised:
        check_recording(path)
    assert str(path) in str(raised.value)


def test_a_file_that_is_not_there_and_one_cut_off(tmp_path: Path) -> None:
    with pytest.raises(RecordingError, match="not there"):
        check_recording(tmp_path / "none.jsonl")
    cut = tmp_path / "cut.jsonl.gz"
    cut.write_bytes(gzip.compress(b'{"at_s": 0, "readings": {}}\n' * 1000)[:-20])
    with pytest.raises(RecordingError):
        check_recording(cut)


def add_given_server(database: sqlite3.Connection, at: float) -> None:
    from state.servers import add_server

    add_server(database, Server(url=URL, found_by="url", seen_at=at, health="up"))
