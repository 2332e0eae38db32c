"""A worker killed a thousand times, SpecForge's own script on the first of these kills: rows lost, doubled; CPU a row.

REGEN_KILLS gives another number of kills. SPECFORGE names a checkout of SpecForge, and SPECFORGE_PYTHON an interpreter
with `openai` and `tqdm`; where they are not given, the script's rows are left out.
"""

import os
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import msgspec

from engine.regen.manifest import CONVERSATIONS
from engine.regen.plan import write_plan
from engine.regen.records import Plan, Sampling
from engine.regen.verify import verify_run
from tests.benchmarks.foretold_server import MODEL, ForetoldServer, foretold, foretold_server
from tests.benchmarks.results import Result

KILLS = int(os.environ.get("REGEN_KILLS", "1000"))
PEER_KILLS = 100
"""The script takes two seconds to start: it meets the first of the kills only."""
RECORDS_A_KILL = int(os.environ.get("REGEN_RECORDS_A_KILL", "30"))
CONCURRENCY = 16
WORDS, DELAY_S = 160, (0.02, 0.2)
COST_ROWS, PEER_COST_ROWS = 4000, 500
COST_CONCURRENCY, COST_WORDS, COST_DELAY_S = 64, 660, (0.3, 0.3)


class Kill(msgspec.Struct, frozen=True):
    """When a life ends."""

    after_requests: int
    """0: it may still be starting."""
    after_s: float


class Subject(msgspec.Struct, frozen=True):
    """A program that has all records answered, and goes on where it was killed."""

    name: str
    argv: tuple[str, ...]
    output: Path
    environment: dict[str, str]


class Count(msgspec.Struct):
    """What is wrong with an output."""

    rows: int = 0
    lost: int = 0
    doubled: int = 0
    wrong: int = 0
    unreadable: int = 0


def run(report: Callable[[str], None]) -> Iterator[Result]:
    seed = random.randrange(2**32)
    report(f"{KILLS} kills, seed {seed}")
    kills = make_kills(KILLS, seed)
    for make, count in ((alula, KILLS), (specforge, min(KILLS, PEER_KILLS))):
        with tempfile.TemporaryDirectory() as name, foretold_server(WORDS, DELAY_S) as server:
            questions = _write_inputs(Path(name), count * RECORDS_A_KILL)
            subject = make(Path(name), server.url, CONCURRENCY)
            if subject is None:
                report("SPECFORGE names no checkout: its script's rows are left out")
                continue
            yield Result(subject.name, "kills", _live_and_die(subject, kills[:count], server, report), "")
            yield from _counted(subject, questions)
            yield Result(subject.name, "requests beyond one a record", server.asked - len(questions), "")
            if make is alula:
                yield Result(subject.name, "problems that verify finds", len(_problems(Path(name))), "", 0)
    yield from _costs()


def _costs() -> Iterator[Result]:
    for make, rows in ((alula, COST_ROWS), (specforge, PEER_COST_ROWS)):
        with tempfile.TemporaryDirectory() as name, foretold_server(COST_WORDS, COST_DELAY_S) as server:
            _write_inputs(Path(name), rows)
            subject = make(Path(name), server.url, COST_CONCURRENCY)
            if subject is not None:
                yield Result(subject.name, f"CPU a row, of {rows:,}, whole process", _cpu_us(subject) / rows, "us")


def make_kills(count: int, seed: int) -> list[Kill]:
    """Nine in ten while it asks, the others at any moment of a start."""
    chance = random.Random(seed)
    return [
        Kill(chance.randrange(1, 40), chance.uniform(0, 0.3))
        if chance.random() < 0.9
        else Kill(0, chance.uniform(0, 1))
        for _ in range(count)
    ]


def _write_inputs(folder: Path, count: int) -> dict[str, str]:
    questions = {f"r{number}": f"question {number}" for number in range(count)}
    rows = [{"id": name, "conversations": [{"role": "user", "content": text}]} for name, text in questions.items()]
    (folder / "prompts.jsonl").write_bytes(b"\n".join(map(msgspec.json.encode, rows)))
    return questions


def alula(folder: Path, url: str, concurrency: int) -> Subject:
    """The worker, as the engine starts it."""
    plan = Plan(
        name="kills",
        inputs=(str(folder / "prompts.jsonl"),),
        server_url=url,
        model=MODEL,
        sampling=Sampling(max_tokens=4096),
        concurrency=concurrency,
        created_at=0.0,
    )
    run_folder = folder / "run"
    write_plan(run_folder, plan)
    argv = (sys.executable, "-m", "engine.regen.worker", str(run_folder))
    home = {**os.environ, "ALULA_HOME": str(folder / "home")}
    return Subject("Alula", argv, run_folder / CONVERSATIONS, home)


def specforge(folder: Path, url: str, concurrency: int) -> Subject | None:
    """Its script with `--resume`, as its documents tell; `None` where no checkout is named."""
    checkout = os.environ.get("SPECFORGE")
    if checkout is None:
        return None
    output = folder / "specforge.jsonl"
    argv = (
        os.environ.get("SPECFORGE_PYTHON", sys.executable), f"{checkout}/scripts/regenerate_train_data.py",
        "--model", MODEL, "--max-tokens", "4096", "--concurrency", str(concurrency), "--resume",
        "--input-file-path", str(folder / "prompts.jsonl"), "--output-file-path", str(output),
        "--server-address", url.removeprefix("http://"),
    )  # fmt: skip
    return Subject("SpecForge's script", argv, output, {**os.environ, "PYTHONPATH": checkout})


def _live_and_die(
    subject: Subject, kills: Sequence[Kill], server: ForetoldServer, report: Callable[[str], None]
) -> int:
    """Start it and kill it as told, then let it end; returns how many kills met it alive."""
    with subject.output.with_suffix(".log").open("wb") as log:
        for lives, kill in enumerate(kills):
            if _dies(subject, kill, server, log.fileno()):
                return lives
            if lives and lives % 100 == 0:
                report(f"{subject.name}: {lives} kills")
        _expect_good_end(subject, _start(subject, log.fileno()).wait())
    return len(kills)


def _dies(subject: Subject, kill: Kill, server: ForetoldServer, log: int) -> bool:
    """One life; whether it ended by itself before."""
    before, process = server.asked, _start(subject, log)
    while kill.after_requests and server.asked < before + kill.after_requests and process.poll() is None:
        time.sleep(0.002)
    time.sleep(kill.after_s)
    ended = process.poll()
    process.kill()
    process.wait()
    _expect_good_end(subject, ended or 0)
    return ended == 0


def _expect_good_end(subject: Subject, code: int) -> None:
    if code:
        said = subject.output.with_suffix(".log").read_text()[-2000:]
        raise RuntimeError(f"{subject.name} ended with {code}: {said}")


def _start(subject: Subject, log: int) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(subject.argv, env=subject.environment, stdout=log, stderr=log)


def _counted(subject: Subject, questions: dict[str, str]) -> Iterator[Result]:
    count = count_rows(subject.output, questions)
    for what in Count.__struct_fields__:
        target = 0 if subject.name == "Alula" and what != "rows" else None
        yield Result(subject.name, f"rows {what}" if what != "rows" else what, getattr(count, what), "", target)


def count_rows(file: Path, questions: dict[str, str]) -> Count:
    """Hold an output against the answers that were foretold."""
    count, seen = Count(), Counter[str]()
    for line in file.read_bytes().splitlines():
        count.rows += 1
        try:
            row = msgspec.json.decode(line)
            name, answer = row["id"], row["conversations"][-1]["content"]
        except (msgspec.DecodeError, KeyError, TypeError):
            count.unreadable += 1
            continue
        seen[name] += 1
        count.wrong += answer != foretold(questions[name], WORDS)
    count.lost = len(questions.keys() - seen.keys())
    count.doubled = seen.total() - len(seen)
    return count


def _problems(folder: Path) -> tuple[str, ...]:
    return verify_run(folder / "run", folder / "run" / CONVERSATIONS).problems


def _cpu_us(subject: Subject) -> float:
    with subject.output.with_suffix(".log").open("wb") as log:
        process = _start(subject, log.fileno())
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"{subject.name} ended with {process.returncode}")
    return (used.ru_utime + used.ru_stime) * 1e6
