"""`alula train reference`: the small trainer that runs anywhere."""

import signal
import sys
from pathlib import Path
from typing import Any

import click
import msgspec

FILE = click.Path(dir_okay=False, path_type=Path)
FOLDER = click.Path(file_okay=False, path_type=Path)


@click.command()
@click.option("--target", type=FOLDER, help="A small LlamaForCausalLM; the shipped reference target where not given.")
@click.option(
    "--data", multiple=True, required=True, type=FILE, help="JSONL of conversations. May be given several times."
)
@click.option("--output", required=True, type=FOLDER, help="Folder of the checkpoints.")
@click.option("--steps", type=click.IntRange(1), help="End after so many steps.")
@click.option("--epochs", type=click.FloatRange(0, min_open=True), help="End after so many passes over the data.")
@click.option("--seconds", type=click.FloatRange(0, min_open=True), help="End after so much time.")
@click.option("--samples", type=click.IntRange(1), help="Train on so many conversations only.")
@click.option("--batch", default=8, show_default=True, type=click.IntRange(1), help="Conversations in a step.")
@click.option("--max-length", default=512, show_default=True, type=click.IntRange(8), help="Tokens; the rest is cut.")
@click.option("--depth", default=6, show_default=True, type=click.IntRange(1, 16), help="Own steps the draft is fed.")
@click.option("--learning-rate", default=2e-3, show_default=True, type=click.FloatRange(0, min_open=True))
@click.option("--draft-vocab-size", type=click.IntRange(1), help="Rows of the head; half of the target's if not given.")
@click.option("--held-out", default=0.05, show_default=True, type=click.FloatRange(0, 0.9), help="Share kept back.")
@click.option("--held-out-data", type=FILE, help="Hold out these conversations in its place.")
@click.option("--start", type=FOLDER, help="Go on with this draft's weights and vocabulary map.")
@click.option("--save-every", default=0, type=click.IntRange(0), help="Steps between checkpoints; 0: at the end alone.")
@click.option("--evaluate-every", default=0, type=click.IntRange(0), help="Steps between evaluations; 0: at the end.")
@click.option("--log-every", default=10, show_default=True, type=click.IntRange(1), help="Steps between lines.")
@click.option("--seed", default=1, show_default=True, type=int)
@click.option("--threads", type=click.IntRange(1, 4096), help="CPU threads.")
@click.option("--resume", is_flag=True, help="Go on from the newest checkpoint in the output folder.")
@click.option("--json", "as_json", is_flag=True, help="Print what the run came to as JSON, as the last line.")
def reference(as_json: bool, **options: Any) -> None:
    """Train an EAGLE-3 draft for a small Llama target, here and now, on the CPU or one GPU.

    For demos, tests and the reference server; a real target is trained by SpecForge: alula train start. Needs the extra
    train (pip install 'alula[train]'). Exit code 0; 2 where it cannot train; 143 after SIGTERM, a checkpoint saved.

    Example: alula train reference --data answers.jsonl --output drafts/small --seconds 60
    """
    from engine.reference.training.settings import CannotTrain, TrainingSettings

    if not any(options[name] for name in ("steps", "epochs", "seconds")):
        options["epochs"] = 1.0
    try:
        import torch  # noqa: F401
    except ImportError:
        _leave("torch is not installed", "pip install 'alula[train]'")
    from engine.reference.training.run import Stopped, train_reference_draft

    stopping: list[int] = []
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda number, frame: stopping.append(number))
    try:
        result = train_reference_draft(TrainingSettings(**options), _say, lambda: bool(stopping))
    except CannotTrain as error:
        _leave(str(error), error.remedy)
    except OSError as error:
        _leave(f"{error.filename or options['output']}: {error.strerror}", "free space, or give another --output")
    except Stopped as stop:
        click.echo(str(stop), err=True)
        sys.exit(128 + stopping[0])
    if as_json:
        _say(msgspec.json.encode(msgspec.to_builtins(result, enc_hook=str)).decode())


def _say(line: str) -> None:
    click.echo(line)
    sys.stdout.flush()


def _leave(message: str, remedy: str) -> None:
    click.echo(f"alula train: {message}\n{remedy}", err=True)
    sys.exit(2)
