"""`alula campaign`: from prompts to a measured speed-up, step by step."""

import click

from console.command_line.campaign_document import document
from console.command_line.campaign_status import status
from console.command_line.campaign_steering import forecast, next_step, resume, start, stop


@click.group()
def campaign() -> None:
    """Plan, data, regeneration, training, benchmarks and forecast as one thing that goes on by itself.

    Example: alula campaign start campaign.toml
    """


for _command in (start, status, next_step, stop, resume, document, forecast):
    campaign.add_command(_command)
