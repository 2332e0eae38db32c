"""`alula train`: a draft's configuration, its training, and how far that is."""

import click

from console.command_line.train_benchmark import benchmark
from console.command_line.train_config import config
from console.command_line.train_forecast import forecast
from console.command_line.train_reference import reference
from console.command_line.train_start import start
from console.command_line.train_status import status


@click.group()
def train() -> None:
    """Train a draft: its configuration, the run, how far it is.

    Example: alula train config --target /models/Qwen3-8B --output drafts/qwen3-8b
    """


for _command in (config, start, status, benchmark, reference, forecast):
    train.add_command(_command)
