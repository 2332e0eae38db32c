"""What a benchmark can be asked to do, from the list and from its own screen."""

from pathlib import Path
from typing import TYPE_CHECKING

from console.screens.alula_command import run_alula
from console.screens.ask_first import ask_first
from state.records.bench import BenchRow

if TYPE_CHECKING:
    from console.app import Console

REPORT_ENDINGS = ("html", "md", "csv", "jsonl")


def stop_bench(console: "Console", row: BenchRow | None) -> None:
    """Say what stopping means, ask once, and stop."""
    if row is None:
        return
    if row.bench.state != "running" or row.bench.job_id is None:
        where = "in a terminal of its own" if row.bench.state == "running" else row.bench.state
        console.notify(f"{row.bench.name} is {where}", markup=False)
        return
    consequences = [
        "Complete measurements are kept; the one under way is thrown away.",
        "A server that it has started is stopped.",
        "It goes on from there when it is resumed: press r.",
    ]

    def stop() -> None:
        console.ask("bench.stop", {"name": str(row.bench.id)}, f"{row.bench.name} is being stopped")

    ask_first(console, f"Stop {row.bench.name}?", consequences, stop, confirm="Stop")


def resume_bench(console: "Console", row: BenchRow | None) -> None:
    """Measure what is missing."""
    if row is not None:
        console.ask("bench.resume", {"name": str(row.bench.id)}, f"{row.bench.name} goes on")


def export_bench(console: "Console", row: BenchRow | None) -> None:
    """Write the report in all its forms into the run folder, by the same command that an operator types."""
    if row is None:
        return
    folder = Path(row.bench.run_folder)
    outputs = [word for ending in REPORT_ENDINGS for word in ("--output", str(folder / f"report.{ending}"))]
    said = f"written: {folder}/report.{{{','.join(REPORT_ENDINGS)}}}"
    run_alula(console, ["bench", "export", str(folder), *outputs], lambda printed: said)
