"""What a step came to: figures, outputs with their digests, and the guard that it must pass. Reads files."""

import hashlib
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from engine.campaign.measured import measured
from engine.campaign.specification import Specification
from state.records.campaigns import CampaignStep, StepKind
from state.regenerations import find_regeneration, latest_overall_speed, latest_progress


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """What a step came to."""

    figures: dict[str, Any] = {}
    outputs: dict[str, str] = {}
    digests: dict[str, str] = {}
    problem: str = ""
    """Why the campaign stops here; empty where the step has passed."""


def examine(database: sqlite3.Connection, wanted: Specification, step: CampaignStep) -> Outcome:
    """Look at what a step has left behind, once its work has ended."""
    lookers: dict[StepKind, Callable[[sqlite3.Connection, Specification, CampaignStep], Outcome]] = {
        "bench": _bench, "data": _data, "regen": _regeneration, "export": _export, "train": _training,
        "forecast": _forecast,
    }  # fmt: skip
    looker = lookers.get(step.kind)
    if looker is None:
        return Outcome()
    try:
        return looker(database, wanted, step)
    except (OSError, ValueError, msgspec.MsgspecError, RecursionError) as error:
        return Outcome(problem=f"what {step.name} has left cannot be read: {error}")


def _bench(database: sqlite3.Connection, wanted: Specification, step: CampaignStep) -> Outcome:
    from engine.bench.comparison import compare_folder
    from engine.bench.records import BenchError
    from state.bench import find_bench

    bench = find_bench(database, step.work)
    if bench is None:
        return Outcome(problem=f"the benchmark {step.work} is gone")
    try:
        found = measured(compare_folder(Path(bench.run_folder)))
    except BenchError as error:
        return Outcome(problem=f"{error}; {error.remedy}")
    problem = ""
    if found["problems"]:
        name, why = next(iter(found["problems"].items()))
        problem = f"{name} could not be measured: {why}"
    elif all(row["void"] for row in found["rows"] if not row["baseline"]) and len(found["rows"]) > 1:
        problem = f"no configuration counts: {next(row['void'] for row in found['rows'] if row['void'])}"
    return Outcome(figures=found, outputs={"folder": bench.run_folder}, problem=problem)


def _data(database: sqlite3.Connection, wanted: Specification, step: CampaignStep) -> Outcome:
    from engine.data.prepare.manifest import MANIFEST, Manifest

    folder = Path(step.work)
    manifest = msgspec.json.decode((folder / MANIFEST).read_bytes(), type=Manifest)
    shards = sorted(manifest.shards, key=lambda shard: shard.file)
    counts = {"prompts": 0, "native": 0}
    outputs, digests = {"manifest": str(folder / MANIFEST)}, {"manifest": sha256(folder / MANIFEST)}
    for shard in shards:
        role = "native" if shard.file.startswith("native-") else "prompts"
        counts[role] += 1
        outputs[f"{role} {counts[role]}"], digests[f"{role} {counts[role]}"] = str(folder / shard.file), shard.sha256
    rows = sum(source.rows for source in manifest.sources)
    funnel = [[row.name, row.left] for row in manifest.funnel]
    figures = {"read": rows, "kept": manifest.records, "native": manifest.native_records, "funnel": funnel}
    problem = "" if counts["prompts"] else "the plan leaves no prompt to answer"
    if any(not path.endswith((".jsonl", ".jsonl.gz")) for role, path in outputs.items() if role != "manifest"):
        problem = "the plan writes Parquet, and a regeneration reads JSONL: set output.format to jsonl"
    return Outcome(figures=figures, outputs=outputs, digests=digests, problem=problem)


def _regeneration(database: sqlite3.Connection, wanted: Specification, step: CampaignStep) -> Outcome:
    run = find_regeneration(database, step.work)
    progress = latest_progress(database, run.id) if run is not None else None
    if run is None or progress is None:
        return Outcome(problem=f"the regeneration {step.work} has left no progress")
    figures = {
        "total": run.total,
        "rejected": run.rejected,
        "done": progress.done,
        "failed": progress.failed,
        "failed_by_kind": progress.failed_by_kind,
        "tokens": progress.completion_tokens,
        "tokens_per_s": latest_overall_speed(database, run.id),
    }
    asked = progress.done + progress.failed
    share, most = progress.failed / asked if asked else 1.0, wanted.regenerate.most_failed
    problem = ""
    if not progress.done:
        problem = f"no prompt was answered; see alula regen status {run.name}"
    elif share > most:
        shares = f"{share * 100:.1f} % of the samples failed, and {most * 100:.1f} % were allowed"
        problem = f"{shares}; alula regen status {run.name}"
    return Outcome(figures=figures, outputs={"run": run.name, "folder": run.run_folder}, problem=problem)


def _export(database: sqlite3.Connection, wanted: Specification, step: CampaignStep) -> Outcome:
    from engine.regen.manifest import MANIFEST, Manifest

    train = Path(step.outputs["train"])
    path = train.with_name(f"{train.stem}.{MANIFEST}")
    manifest = msgspec.json.decode(path.read_bytes(), type=Manifest)
    sides = {str(side): one for side, one in manifest.files.items()}
    figures = {side: one.rows for side, one in sides.items()} | {
        "tokens": manifest.completion_tokens,
        "left_out": manifest.left_out,
        "native": manifest.native,
    }
    problem = "" if sides["train"].rows else "nothing is left to train on"
    if wanted.regenerate.held_out and not sides["held_out"].rows:
        problem = problem or "no prompt fell to the held-out side: raise [regenerate] held_out"
    digests = {side: one.sha256 for side, one in sides.items()} | {"manifest": sha256(path)}
    outputs = {side: one.file for side, one in sides.items()} | {"manifest": str(path)}
    return Outcome(figures=figures, outputs=outputs, digests=digests, problem=problem)


def _training(database: sqlite3.Connection, wanted: Specification, step: CampaignStep) -> Outcome:
    from engine.campaign.trained import trained

    found = trained(database, wanted, step)
    return Outcome(
        figures=found.figures,
        outputs={"checkpoint": found.checkpoint} if found.checkpoint else {},
        digests={"checkpoint": found.digest} if found.digest else {},
        problem=found.problem,
    )


def _forecast(database: sqlite3.Connection, wanted: Specification, step: CampaignStep) -> Outcome:
    path = Path(step.outputs["forecast"])
    return Outcome(
        figures=msgspec.json.decode(path.read_bytes(), type=dict[str, Any]), digests={"forecast": sha256(path)}
    )


def sha256(path: Path) -> str:
    """Of a file's bytes."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
