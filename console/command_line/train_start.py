"""`alula train start`: a SpecForge training, planned, checked and launched as a job."""

import sys
from contextlib import closing
from pathlib import Path
from typing import Any, NoReturn

import click
import msgspec

from console.command_line.live_view import could_not, to_json
from console.command_line.train_waiting import join_running, wait_for_end
from engine.client import Client, CommandRefused, EngineUnavailable
from state.database import open_database
from state.errors import StateError
from state.folder import state_folder
from state.outside_text import plain_line

FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
FOLDER = click.Path(file_okay=False, path_type=Path)


@click.command()
@click.option("--target", required=True, help="The target's folder, or its repository id in the Hugging Face cache.")
@click.option("--data", required=True, type=FILE, help="Conversations that the target answered: alula regen export.")
@click.option("--name", help="Name of the training; that of the data file where not given.")
@click.option(
    "--specforge", "checkout", type=FOLDER, help="A checkout of SpecForge: for offline, and before July 2026."
)
@click.option("--draft-config", type=click.Path(exists=True, path_type=Path), help="Made for the target if not given.")
@click.option("--draft-vocab-size", type=click.IntRange(1), help="Rows of the head, where the config is made here.")
@click.option("--offline", is_flag=True, help="Write the hidden states to disk first, then train on them.")
@click.option("--hidden-states", type=FOLDER, help="Folder of hidden states; with --offline, where to write them.")
@click.option("--vocabulary-map", type=FILE, help="vocab_mapping.pt; an online training needs one.")
@click.option("--gpus", default="0", show_default=True, metavar="0,1", help="GPUs that train.")
@click.option("--capture-gpus", default="", metavar="2,3", help="GPUs of the server that gives the states (online).")
@click.option("--chat-template", help="SpecForge's name; by the target's model type where not given.")
@click.option("--max-length", default=2048, show_default=True, type=click.IntRange(16), help="Tokens.")
@click.option("--epochs", default=10, show_default=True, type=click.IntRange(1))
@click.option("--max-steps", type=click.IntRange(1), help="End earlier.")
@click.option("--batch", default=1, show_default=True, type=click.IntRange(1), help="Conversations a GPU and step.")
@click.option("--accumulation", default=1, show_default=True, type=click.IntRange(1), help="Batches in a step.")
@click.option("--learning-rate", default=1e-4, show_default=True, type=click.FloatRange(0, min_open=True))
@click.option("--ttt-length", default=7, show_default=True, type=click.IntRange(1, 16), help="Depths in training.")
@click.option("--save-interval", default=1000, show_default=True, type=click.IntRange(0), help="Steps; 0: at the end.")
@click.option("--override", multiple=True, metavar="NAME", help="Start although this check stands against it.")
@click.option("--resume", is_flag=True, help="Go on with the training of this name from its newest checkpoint.")
@click.option("--dry-run", is_flag=True, help="Say what would be done; start and write nothing.")
@click.option("--wait", is_flag=True, help="Wait for its end; SIGTERM stops the training too.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def start(as_json: bool, dry_run: bool, wait: bool, override: tuple[str, ...], **options: Any) -> None:
    """Train a draft with SpecForge: configuration, estimates and checks first, then a job of the engine.

    Exit code 0; 1 where a check stands against it that --override does not name, or, with --wait, where the training
    failed; 2 where it cannot be planned.

    Example: alula train start --target /models/Qwen3-8B --data train.jsonl --specforge ~/SpecForge --offline --dry-run
    """
    from engine.train.specforge.plan import CannotPlan
    from engine.train.specforge.problems import standing
    from engine.train.specforge.review import reviewed

    try:
        folder = state_folder()
        if not dry_run:
            join_running(folder, options, wait=wait)
        review = reviewed(folder, options, _gpu_memory(folder.database_path))
        against = standing(review.problems, override)
        if not as_json:
            for line in review.lines():
                click.echo(plain_line(line, 2000))
        answer = None if dry_run or against else _launch(review, options)
    except CannotPlan as error:
        _leave(str(error), error.remedy, as_json)
    except (StateError, EngineUnavailable, CommandRefused) as error:
        sys.exit(could_not(error, as_json=as_json))
    except OSError as error:
        _leave(f"{error.filename}: {error.strerror}", "free space, or set ALULA_HOME", as_json)
    if as_json:
        click.echo(to_json(review.value() | {"started": answer}))
    elif answer is not None:
        click.echo(f"{review.plan.name} has started as job {answer['job_id']}\nalula train status {review.plan.name}")
    if against and not as_json:
        names = " ".join(f"--override {one.name}" for one in against)
        click.echo(f"not started; to start all the same: {names}", err=True)
    sys.exit(wait_for_end(folder, answer["job_id"]) if wait and answer else 1 if against else 0)


def _launch(review: Any, options: dict[str, Any]) -> dict[str, Any]:
    from engine.train.specforge.review import job_requests
    from engine.train.store import write_plan

    client = Client(state_folder())
    client.ensure_engine()
    write_plan(review.plan)
    answer: dict[str, Any] = {}
    for request in job_requests(review):
        if answer:
            request["schedule"]["after_ok"] = [answer["job_id"]]
        answer = client.ask("jobs.launch", request)
    return answer


def _gpu_memory(path: Path) -> int | None:
    """Memory of this host's smallest GPU, as the engine has seen it."""
    from state.gpus import read_gpus

    if not path.exists():
        return None
    with closing(open_database(path)) as database:
        sizes = [gpu.memory_total_bytes for gpu in read_gpus(database) if gpu.memory_total_bytes]
    return min(sizes, default=None)


def _leave(message: str, remedy: str, as_json: bool) -> NoReturn:
    if as_json:
        click.echo(msgspec.json.encode({"error": message, "remedy": remedy}).decode())
    else:
        click.echo(f"alula train: {plain_line(message, 500)}\n{plain_line(remedy, 500)}", err=True)
    sys.exit(2)
