"""A preparation of many records: time, CPU, memory, the same bytes after kills, recall and precision of near-duplicate
removal; beside it datatrove's own MinHash step on the same records.

`DATA_RECORDS` records (100,000), in the folder `DATA_FOLDER` (a temporary one). `DATATROVE_PYTHON` names a Python that
has datatrove: `pip install "datatrove[io,processing]" spacy`.
"""

import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil

from tests.benchmarks import data_corpus, data_quality
from tests.benchmarks.results import Result
from tests.benchmarks.subjects import ROOT

MILLION = 1_000_000
MOST_CPU_S, MOST_MIB = 1200.0, 1024.0
"""For a million records: ten minutes of two cores."""
KILLS = 3
SEED = 1
TOKENIZER = ROOT / "engine/reference/checkpoint/target"
PLAN = """\
name = "corpus"
[target]
tokenizer = "{tokenizer}"
[decontamination]
benchmarks = ["benchmark.jsonl"]
[[source]]
name = "corpus"
path = "corpus.jsonl"
"""


def run(report: Callable[[str], None]) -> Iterator[Result]:
    """All figures of one size."""
    records = int(os.environ.get("DATA_RECORDS", "100000"))
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(os.environ.get("DATA_FOLDER", temporary))
        folder.mkdir(parents=True, exist_ok=True)
        report(f"{records:,} records in {folder}")
        plan = _made(folder, records)
        share = records / MILLION
        watched = Watched(command_for(plan, folder / "whole"), folder)
        watched.end()
        name = f"prepare, {records:,} records"
        yield Result(name, "time", watched.wall_s, "s", MOST_CPU_S / 2 * share)
        yield Result(name, "CPU", watched.cpu_s, "s", MOST_CPU_S * share)
        yield Result(name, "most memory", watched.memory_mib, "MiB", MOST_MIB)
        yield Result(name, "for each CPU second", records / watched.cpu_s, "rec/s")
        yield from _quality(folder)
        differing = _killed(plan, folder, watched.wall_s, report)
        yield Result(name, f"files that {KILLS} kills change", differing, "", 0)
        yield from _peer(folder, records, report)


class Watched:
    """A command with its children: time, CPU, and the most memory that they held together."""

    def __init__(self, command: list[str], folder: Path, log: str = "log.txt") -> None:
        environment = {**os.environ, "ALULA_HOME": str(folder / "home"), "RAYON_NUM_THREADS": "1"}
        self._log = (folder / log).open("wb")
        self._before = _children_cpu_s()
        self._started = time.monotonic()
        self.process = subprocess.Popen(command, env=environment, cwd=ROOT, stdout=self._log, stderr=self._log)
        self.memory_mib = self.wall_s = self.cpu_s = 0.0

    def end(self, limit_s: float | None = None) -> bool:
        """Watch until it ends, or is killed at the limit; says whether it ended by itself."""
        while self.process.poll() is None:
            self.memory_mib = max(self.memory_mib, memory_of(self.process.pid))
            if limit_s is not None and time.monotonic() - self._started > limit_s:
                self.process.send_signal(signal.SIGKILL)
            time.sleep(0.5)
        self.wall_s = time.monotonic() - self._started
        self.cpu_s = _children_cpu_s() - self._before
        self._log.close()
        if self.process.returncode not in (0, -signal.SIGKILL):
            raise RuntimeError(f"see {self._log.name}: exit code {self.process.returncode}")
        return self.process.returncode == 0


def memory_of(pid: int) -> float:
    """MiB of a process and its children; what they share counts once."""
    found = 0.0
    try:
        one = psutil.Process(pid)
        for process in (one, *one.children(recursive=True)):
            found += process.memory_full_info().pss
    except psutil.Error:
        pass
    return found / 2**20


def _children_cpu_s() -> float:
    times = os.times()
    return times.children_user + times.children_system


def _made(folder: Path, records: int) -> Path:
    corpus = folder / "corpus.jsonl"
    if not corpus.exists():
        data_corpus.write(corpus, records, SEED)
    data_corpus.write(folder / "benchmark.jsonl", 164, SEED + 1)
    plan = folder / "corpus.toml"
    plan.write_text(PLAN.format(tokenizer=TOKENIZER))
    return plan


def command_for(plan: Path, output: Path, workers: int = 2) -> list[str]:
    """The command that an operator types."""
    words = ["data", "prepare", str(plan), "--here", "--workers", str(workers), "--output", str(output)]
    return [sys.executable, "-m", "console", *words]


def _quality(folder: Path) -> Iterator[Result]:
    found = data_quality.judged(folder / "corpus.jsonl", data_quality.kept_by_alula(folder / "whole"))
    yield from data_quality.results("prepare", found)


def _killed(plan: Path, folder: Path, wall_s: float, report: Callable[[str], None]) -> int:
    """Files that differ from those of the whole run after kills at random times."""
    source = random.Random(SEED)
    output = folder / "killed"
    for _ in range(KILLS):
        limit_s = source.uniform(0.05, 0.9 / KILLS) * wall_s
        report(f"killed after {limit_s:.0f} s")
        Watched(command_for(plan, output), folder).end(limit_s)
    Watched(command_for(plan, output), folder).end()
    whole, again = (bytes_of(folder / name) for name in ("whole", "killed"))
    return sum(whole.get(name) != again.get(name) for name in whole.keys() | again.keys())


def bytes_of(folder: Path) -> dict[str, str]:
    """File to SHA-256."""
    import hashlib

    found = {}
    for path in sorted(folder.iterdir()):
        if path.is_file():
            with path.open("rb") as stream:
                found[path.name] = hashlib.file_digest(stream, "sha256").hexdigest()
    return found


def _peer(folder: Path, records: int, report: Callable[[str], None]) -> Iterator[Result]:
    """Near-duplicates alone: datatrove's four MinHash steps, and Alula's reading, words, minima and comparison."""
    ours = Watched([sys.executable, "-m", "tests.benchmarks.data_copies", str(folder)], folder)
    ours.end()
    yield Result("Alula, near-duplicates alone", "for each CPU second", records / ours.cpu_s, "rec/s")
    python = os.environ.get("DATATROVE_PYTHON")
    if python is None:
        report("  skipped: datatrove; DATATROVE_PYTHON names no Python that has it")
        return
    script = Path(__file__).with_name("data_datatrove.py")
    theirs = Watched([python, str(script), str(folder)], folder)
    theirs.end()
    yield Result("datatrove's MinHash steps", "for each CPU second", records / theirs.cpu_s, "rec/s")
    yield Result("datatrove's MinHash steps", "most memory", theirs.memory_mib, "MiB")
    found = data_quality.judged(folder / "corpus.jsonl", data_quality.kept_by_datatrove(folder / "datatrove"))
    yield from data_quality.results("datatrove's MinHash steps", found)
    yield Result("CPU a record", "datatrove / Alula", theirs.cpu_s / ours.cpu_s, "x")
