"""`alula reference`: the small stand-in model server."""

import json
import sys
from pathlib import Path

import click

LOG_LEVELS = ("debug", "info", "warning", "error")


@click.group()
def reference() -> None:
    """The small stand-in model server for machines with no GPU.

    Example: alula reference serve --port 30000
    """


@reference.command()
@click.option("--model-path", "--model", type=click.Path(path_type=Path), help="Target folder; default: Alula's own.")
@click.option("--host", default="127.0.0.1", show_default=True)
@click.option("--port", default=30000, show_default=True, type=click.IntRange(0, 65535), help="0: any free port.")
@click.option("--served-model-name", help="Name for clients; default: the model path.")
@click.option("--context-length", type=click.IntRange(2), help="Tokens of prompt and answer; default: the model's.")
@click.option("--max-running-requests", default=48, show_default=True, type=click.IntRange(1, 512))
@click.option("--speculative-algorithm", help="EAGLE3, or EAGLE (alias NEXTN); default: no speculation.")
@click.option(
    "--speculative-draft-model-path", "--speculative-draft-model", type=click.Path(path_type=Path), help="Draft folder."
)
@click.option("--speculative-num-steps", type=int, help="Drafted tokens before each verification.")
@click.option("--speculative-eagle-topk", type=int, help="1: the reference server drafts chains.")
@click.option("--speculative-num-draft-tokens", type=int, help="Always num-steps + 1 with top-k 1.")
@click.option("--enable-return-hidden-states", is_flag=True, help="Let requests ask for the target's states.")
@click.option("--enable-metrics", is_flag=True, help="Taken for SGLang's sake: /metrics is always there.")
@click.option("--decode-log-interval", default=40, show_default=True, type=click.IntRange(1))
@click.option("--api-key", help="Ask clients for this key.")
@click.option("--log-level", default="info", show_default=True, type=click.Choice(LOG_LEVELS, case_sensitive=False))
def serve(model_path: Path | None, log_level: str, enable_metrics: bool, **given: object) -> None:
    """Serve the small model over SGLang's HTTP surface, until SIGTERM or Ctrl-C.

    The flags are SGLang's own. The line `listening on URL` on standard output says when it is ready; the log goes
    to standard error.

    Example: alula reference serve --port 0 --speculative-algorithm EAGLE3 --speculative-draft-model-path
    "$(alula reference paths --draft)"
    """
    import asyncio
    import logging

    from engine.reference.checkpoint import CheckpointError, shipped_target
    from engine.reference.server import run_until_signal
    from engine.reference.settings import ServerSettings, SettingsError

    logging.basicConfig(
        level=log_level.upper(), stream=sys.stderr, format="[%(asctime)s] %(message)s", datefmt="%Y-%m-%d %H:%M:%S"
    )
    settings = ServerSettings(model_path=model_path or shipped_target(), log_level=log_level, **given)  # type: ignore[arg-type]
    try:
        asyncio.run(run_until_signal(settings, lambda url: click.echo(f"listening on {url}")))
    except (CheckpointError, SettingsError) as error:
        click.echo(f"{error} {error.remedy}", err=True)
        sys.exit(2)


@reference.command()
@click.option("--target", "only", flag_value="target", help="The target's folder alone.")
@click.option("--draft", "only", flag_value="draft", help="The draft's folder alone.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def paths(only: str | None, as_json: bool) -> None:
    """Print where the target and the draft that come with Alula lie.

    Example: alula reference paths --json
    """
    from engine.reference.checkpoint import shipped_draft, shipped_target

    folders = {"target": str(shipped_target()), "draft": str(shipped_draft())}
    if as_json:
        click.echo(json.dumps(folders))
    elif only is not None:
        click.echo(folders[only])
    else:
        for name, folder in folders.items():
            click.echo(f"{name:<7} {folder}")
