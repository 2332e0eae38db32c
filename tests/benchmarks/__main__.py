"""Print figures, with the same figures of other programs measured in the same run. Nothing is asserted.

python -m tests.benchmarks [NAME ...] [--json]
"""

import argparse
import importlib
import sys

import msgspec

BENCHMARKS = {
    "screens": "Bytes a second, CPU and memory of a screen at rest, in a terminal and through tmux.",
    "latency": "From a key to the screen.",
    "starts": "First frame and short commands.",
    "watch_engine": "CPU and memory of the engine with 8 GPUs and 2 servers at 1 Hz.",
    "watch_growth": "The same engine for half an hour or $WATCH_SECONDS: growth of memory, files and threads.",
    "watch_database": "Size of the database after 30 days of 16 GPUs.",
    "check_speed": "A whole check of a deployment, in process and as a command.",
    "regen_eta": "Error and coverage of the regeneration's ETA, on simulated servers.",
    "forecast_coverage": "How often the 80 % range of a data forecast holds the truth, on simulated trainings.",
    "regen_pipeline": "CPU of a regeneration for each sample, and its memory with 10,000 to 1,000,000.",
    "regen_resume": "A regeneration of 1,000,000 ($REGEN_STORE keeps it): from its start again to the first request.",
    "regen_kills": "A worker killed 1,000 times ($REGEN_KILLS), beside SpecForge's script: rows lost and doubled.",
    "data_prepare": "A preparation of $DATA_RECORDS records: time, memory, kills, quality; beside datatrove's MinHash.",
    "data_kills": "A preparation killed $DATA_KILLS times at random: do all that end hold the same bytes?",
    "bench_client": "CPU of the load generator for each answer, beside other clients, and how true its times are.",
    "bench_peers": "The load generator's figures beside those of sglang.bench_serving and guidellm, on one server.",
    "soak_watch": "A night of the engine at sixty times the speed: memory, files, threads, database.",
    "soak_regen": "A regeneration for an hour while engine, worker, runner and server are killed at random.",
    "jobs_table": "200 jobs wait, 5,000 have ended: the table opened and scrolled, beside Textual's own.",
    "job_kills": "Engine and runners killed 1,000 times ($JOB_KILLS): jobs run twice, forgotten, with a wrong end.",
    "rule_mutations": "Small changes to the checker's rules, and how many of them a test notices.",
    "reference_throughput": "Tokens a second and accept length of the reference server.",
}
"""Module of this package to what it measures."""

BY_NAME_ALONE = {"job_kills", "data_prepare", "data_kills", "watch_growth", "regen_kills", "soak_watch", "soak_regen"}
"""Too long for a run of all."""


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"any of: {', '.join(BENCHMARKS)} (default: all)")
    parser.add_argument("--json", action="store_true", help="one JSON object a line")
    given = parser.parse_args()
    if unknown := set(given.names) - set(BENCHMARKS):
        parser.error(f"no benchmark is called {', '.join(sorted(unknown))}; there are {', '.join(BENCHMARKS)}")
    for name in given.names or [name for name in BENCHMARKS if name not in BY_NAME_ALONE]:
        print(f"{name}: {BENCHMARKS[name]}", file=sys.stderr if given.json else sys.stdout, flush=True)
        for result in importlib.import_module(f"tests.benchmarks.{name}").run(_report):
            print(msgspec.json.encode(result).decode() if given.json else result.line(), flush=True)
    return 0


def _report(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
