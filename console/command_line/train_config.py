"""`alula train config`: a draft's config.json, made for a target and checked."""

import sys
from pathlib import Path
from typing import NoReturn

import click
import msgspec


@click.command()
@click.option("--target", required=True, help="The target's folder, or its repository id in the Hugging Face cache.")
@click.option("--form", type=click.Choice(["llama", "mla"]), default="llama", show_default=True, help="Draft class.")
@click.option("--draft-vocab-size", type=int, help="Rows of the head; 32000 where not given.")
@click.option("--sglang-version", help="The release that will serve it; the newest known where not given.")
@click.option("--output", type=click.Path(file_okay=False, path_type=Path), help="Folder to write config.json into.")
@click.option("--json", "as_json", is_flag=True, help="Print config and findings as JSON.")
def config(
    target: str, form: str, draft_vocab_size: int | None, sglang_version: str | None, output: Path | None, as_json: bool
) -> None:
    """Write the config.json of an EAGLE-3 draft whose dimensions follow from the target.

    Capture layers are stated, SGLang's + 1 counted. The result is checked with the same rules as a deployment. Exit
    code 0; 1 where the check finds an error; 2 where no draft can be configured.

    Example: alula train config --target /models/Qwen3-8B --output drafts/qwen3-8b
    """
    from engine.check.flags.release import choose_release
    from engine.check.models import read_model
    from engine.train.draft_config import CannotDraft, draft_config

    release = choose_release(sglang_version).name
    try:
        made = draft_config(
            read_model(target, "target"), "mla" if form == "mla" else "llama", draft_vocab_size, release
        )
    except CannotDraft as error:
        _leave(str(error), error.remedy)
    if output is not None:
        _write(output, made)
    findings = _checked(target, made, release)
    text = msgspec.json.format(msgspec.json.encode(made), indent=2).decode()
    if as_json:
        click.echo(msgspec.json.encode({"config": made, "findings": findings}).decode())
    else:
        click.echo(text if output is None else f"written: {output / 'config.json'}")
    errors = [one for one in findings if one["severity"] == "error"]
    for one in errors:
        click.echo(f"error: {one['rule']}: {one['message']}", err=True)
    sys.exit(1 if errors else 0)


def _checked(target: str, made: dict[str, object], release: str) -> list[dict[str, object]]:
    """What the checker says of a server with this draft."""
    import tempfile

    from engine.check.collect import Collection

    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "config.json").write_bytes(msgspec.json.encode(made))
        collection = Collection(release)
        launch = ["python", "-m", "sglang.launch_server", "--model-path", target, "--speculative-algorithm", "EAGLE3"]
        collection.add_command([*launch, "--speculative-draft-model-path", folder])
        outcome = collection.outcome()
    found: list[dict[str, object]] = msgspec.to_builtins(
        [one for checked in outcome.checked for one in checked.findings]
    )
    return found


def _write(output: Path, made: dict[str, object]) -> None:
    path = output / "config.json"
    try:
        output.mkdir(parents=True, exist_ok=True)
        with path.open("xb") as stream:
            stream.write(msgspec.json.format(msgspec.json.encode(made), indent=2) + b"\n")
    except FileExistsError:
        _leave(f"{path} exists already", "give another --output; nothing was changed")
    except OSError as error:
        _leave(f"cannot write {path}: {error.strerror}", "give another --output")


def _leave(message: str, remedy: str) -> NoReturn:
    click.echo(f"alula train: {message}\n{remedy}", err=True)
    sys.exit(2)
