"""Who may start now: examples for each reason to wait, and what always holds."""

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from engine.jobs.admission import Device, Surroundings, admissions
from state.records.jobs import Job, JobState, Schedule

FOUR = tuple(Device(index=index, uuid=f"GPU-{index}") for index in range(4))
HERE = Surroundings(now=1000.0, devices=FOUR, memory_bytes=64 << 30)


def job(number: int, state: JobState = "queued", **more: object) -> Job:
    own = {name: more.pop(name) for name in ("gpus", "not_before") if name in more and state != "queued"}
    own |= {"not_before": more.pop("not_before")} if "not_before" in more else {}
    return Job(
        id=number, name="a", kind="command", state=state, argv=("a",), working_dir="/", run_folder="/r",
        created_at=1.0, schedule=Schedule(**more), **own,  # type: ignore[arg-type]
    )  # fmt: skip


def waits(around: Surroundings, *jobs: Job) -> str | None:
    return admissions(jobs, around)[jobs[-1].id].waits


def never(around: Surroundings, *jobs: Job) -> str | None:
    return admissions(jobs, around)[jobs[-1].id].never


def test_gpus_by_count_are_the_free_ones() -> None:
    running = job(1, "running", gpus=(0,))
    around = msgspec.structs.replace(
        HERE, devices=(*FOUR[:1], Device(index=1, uuid="b", taken_by="vllm (pid 7)"), *FOUR[2:])
    )
    assert admissions([running, job(2, gpus=2)], around)[2].gpus == (2, 3)
    assert waits(around, running, job(2, gpus=3)) == (
        "waits for 3 free GPUs: 2 free, the others held by job 1, vllm (pid 7)"
    )
    assert never(around, job(2, gpus=5)) == "asks for 5 GPUs, and there are 4"


def test_gpus_by_index() -> None:
    assert admissions([job(2, gpu_choice=(3, 1))], HERE)[2].gpus == (3, 1)
    assert waits(HERE, job(1, "running", gpus=(1,)), job(2, gpu_choice=(1,))) == "waits for GPU 1, held by job 1"
    assert never(HERE, job(2, gpu_choice=(9,))) == "there is no GPU 9 here"


def test_a_large_job_is_not_overtaken_for_ever() -> None:
    verdicts = admissions([job(1, "running", gpus=(0,)), job(2, gpus=4), job(3, gpus=1)], HERE)
    assert verdicts[2].waits and verdicts[3].waits == (
        "waits for 1 free GPU: 0 free, the others held by job 1, job 2, which waits before it"
    )


def test_higher_priority_goes_first() -> None:
    verdicts = admissions([job(1, gpus=4), job(2, gpus=4, priority=5)], HERE)
    assert verdicts[2].starts and not verdicts[1].starts


def test_dependencies() -> None:
    around = msgspec.structs.replace(HERE, states={1: "running", 2: "failed", 3: "done"})
    assert waits(around, job(9, after=(1,))) == "waits for job 1"
    assert waits(around, job(9, after_ok=(3, 1))) == "waits for job 1"
    assert admissions([job(9, after=(2,), after_ok=(3,))], around)[9].starts
    assert never(around, job(9, after_ok=(2,))) == "job 2, which it needs, is failed"
    assert never(around, job(9, after=(77,))) == "there is no job 77 to wait for"


def test_the_host() -> None:
    busy = msgspec.structs.replace(HERE, busy_ports=frozenset({30000}))
    assert waits(busy, job(1, ports=(30000,))) == "waits for port 30000, at which something listens"
    assert (
        waits(HERE, job(1, "running", ports=(30000,)), job(2, ports=(30000,))) == "waits for port 30000, held by job 1"
    )
    assert never(HERE, job(1, memory_bytes=65 << 30))
    assert waits(HERE, job(1, "running", memory_bytes=40 << 30), job(2, memory_bytes=30 << 30)) == (
        "waits for 30720 MiB of memory, of which 24576 MiB are left"
    )


def test_nothing_is_known_yet_or_nothing_is_there() -> None:
    assert waits(msgspec.structs.replace(HERE, devices=None), job(1, gpus=1)) == "waits for a first look at the GPUs"
    none = msgspec.structs.replace(HERE, devices=(), no_devices="no GPU can be used here: no driver")
    assert never(none, job(1, gpus=1)) == "no GPU can be used here: no driver"
    assert admissions([job(1)], none)[1].starts


def test_time_and_pause() -> None:
    assert "tries again at" in (waits(HERE, job(1, not_before=1001.0)) or "")
    assert admissions([job(1, not_before=999.0)], HERE)[1].starts
    assert waits(msgspec.structs.replace(HERE, paused=True), job(1)) == "the queue is paused"


queued = st.builds(
    lambda number, priority, count, choice: (number, priority, count, tuple(choice)),
    st.integers(1, 40), st.integers(-2, 2), st.integers(0, 5), st.lists(st.integers(0, 4), unique=True, max_size=3),
)  # fmt: skip


@given(
    st.lists(queued, unique_by=lambda row: row[0], max_size=12),
    st.dictionaries(st.integers(41, 44), st.lists(st.integers(0, 3), unique=True, max_size=1), max_size=4),
    st.sets(st.integers(0, 3)),
)
def test_no_gpu_is_given_twice(
    rows: list[tuple[int, int, int, tuple[int, ...]]], running: dict[int, list[int]], foreign: set[int]
) -> None:
    devices = tuple(msgspec.structs.replace(d, taken_by="x" if d.index in foreign else None) for d in FOUR)
    held = {index for gpus in running.values() for index in gpus}
    jobs = [job(number, priority=p, gpus=n, gpu_choice=choice) for number, p, n, choice in rows]
    jobs += [job(number, "running", gpus=tuple(gpus)) for number, gpus in running.items()]
    verdicts = admissions(jobs, msgspec.structs.replace(HERE, devices=devices))
    given_out = [index for verdict in verdicts.values() for index in verdict.gpus]
    assert len(given_out) == len(set(given_out)) and not set(given_out) & (held | foreign)
    for number, _, count, choice in rows:
        verdict = verdicts[number]
        assert verdict.starts == (verdict.waits is None and verdict.never is None)
        if verdict.starts:
            assert verdict.gpus == choice if choice else len(verdict.gpus) == count
