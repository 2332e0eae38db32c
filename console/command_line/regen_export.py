"""`alula regen export` and `alula regen verify`: the finished data, and the proof that it is complete and true."""

import sqlite3
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from console.command_line.live_view import to_json
from console.command_line.regen_runs import find_run, leave
from state.outside_text import plain_line
from widgets import figures

if TYPE_CHECKING:
    from engine.regen.manifest import Manifest

_json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
_FLAWS = ["cut_by_length", "repetition", "refusal", "other_language", "echo"]


@click.command()
@click.argument("run")
@click.option(
    "--output", type=click.Path(dir_okay=False, path_type=Path),
    help="File to write; else in the run folder. A name in .parquet asks for token rows.",
)  # fmt: skip
@click.option(
    "--tokenizer", type=click.Path(exists=True, file_okay=False, path_type=Path), metavar="FOLDER",
    help="Parquet: the target's tokenizer; the run's own where not given.",
)  # fmt: skip
@click.option("--max-length", type=click.IntRange(2), help="Parquet: leave out rows of more tokens.")
@click.option("--held-out", default=0.0, type=click.FloatRange(0, 0.5), help="Share of prompts for a second file.")
@click.option(
    "--native", multiple=True, type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="JSONL of samples that are the target's own already, to join.",
)  # fmt: skip
@click.option("--without", multiple=True, type=click.Choice(_FLAWS), help="Leave out answers with this flaw.")
@_json_option
def export(run: str, output: Path | None, as_json: bool, **options: Any) -> None:
    """Write what is answered so far, with a manifest: conversations JSONL (SpecForge's form), or Parquet.

    Parquet holds input_ids and loss_mask by the target's own tokenizer and chat template, the loss on the target's
    words alone, each row checked by decoding.

    Example: alula regen export humaneval --output train.parquet --held-out 0.02 --without repetition
    """
    from engine.regen.export import export_run
    from engine.regen.plan import PlanError, read_plan
    from engine.regen.selection import ExportOptions
    from engine.regen.tokens.tokenizer import TokenizerError

    found = find_run(run, as_json)
    folder = Path(found.run_folder)
    tokenizer = options["tokenizer"]
    wanted = ExportOptions(
        without=options["without"],
        held_out=options["held_out"],
        native=tuple(str(path.absolute()) for path in options["native"]),
        tokenizer=str(tokenizer.absolute()) if tokenizer else None,
        max_length=options["max_length"],
    )
    try:
        manifest = export_run(folder, read_plan(folder), output, wanted)
    except (PlanError, TokenizerError) as error:
        leave(f"{error}\n{error.remedy}", as_json)
    except (OSError, ValueError, sqlite3.Error) as error:
        leave(f"cannot export {found.name}: {error}\ngive another --output, or see {found.run_folder}", as_json)
    click.echo(to_json(manifest) if as_json else "\n".join(_said(manifest)))


@click.command()
@click.argument("run")
@click.argument("file", required=False, type=click.Path(exists=True, dir_okay=False, path_type=Path))
@_json_option
def verify(run: str, file: Path | None, as_json: bool) -> None:
    """Prove an export complete and true: what it should hold is made again from the store and compared.

    Exit code 0 where it is, 1 where it is not.

    Example: alula regen verify humaneval train.parquet
    """
    from engine.regen.manifest import CONVERSATIONS
    from engine.regen.verify import verify_run

    found = find_run(run, as_json)
    try:
        verdict = verify_run(Path(found.run_folder), file or Path(found.run_folder) / CONVERSATIONS)
    except (OSError, ValueError, sqlite3.Error) as error:
        leave(f"cannot verify {found.name}: {error}\nexport it first: alula regen export {found.name}", as_json)
    if as_json:
        click.echo(to_json(verdict))
    else:
        left_out = f", {figures.count(sum(verdict.left_out.values()))} left out" if verdict.left_out else ""
        counts = (
            f"{verdict.rows} rows, {verdict.answered} answers{left_out}, {verdict.failed} failed, "
            f"{verdict.samples} samples"
        )
        said = "complete and true" if not verdict.problems else "NOT SOUND"
        click.echo("\n".join([f"{said}: {counts}", *(plain_line(problem, 300) for problem in verdict.problems)]))
    sys.exit(1 if verdict.problems else 0)


def _said(manifest: "Manifest") -> list[str]:
    lines = []
    for side, one in manifest.files.items():
        tokens = f", {figures.count(one.tokens)} tokens, loss on {figures.count(one.loss_tokens)}" if one.tokens else ""
        what = "rows" if one.file.endswith(".parquet") else "conversations"
        held_out = ", held out" if side == "held_out" else ""
        lines.append(f"{one.rows} {what}{held_out}{tokens} in {one.file}")
    if manifest.native:
        lines.append(f"{figures.count(manifest.native)} native samples joined")
    lines += [f"left out: {figures.count(count)} {reason}" for reason, count in sorted(manifest.left_out.items())]
    return lines
