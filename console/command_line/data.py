"""`alula data`: find training prompts, mix them, keep them clean."""

import click

from console.command_line.data_plan import write_plan
from console.command_line.data_prepare import prepare
from console.command_line.data_search import search_hub
from console.command_line.data_show import show_source


@click.group()
def data() -> None:
    """Find training prompts for a draft, mix them, keep them clean.

    Example: alula data show HumanEval.jsonl.gz
    """


data.add_command(search_hub)
data.add_command(show_source)
data.add_command(write_plan)
data.add_command(prepare)
