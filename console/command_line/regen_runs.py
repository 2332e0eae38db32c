"""What the commands of `alula regen` share: a run by its name, and leaving with a remedy."""

import sys
from contextlib import closing
from typing import NoReturn

from console.command_line.live_view import could_not
from engine.client import EngineUnavailable
from state.database import open_database
from state.errors import StateError
from state.fleets import read_whole
from state.folder import state_folder
from state.records.regeneration import Regeneration


def find_run(name: str, as_json: bool) -> Regeneration:
    """The run of this name or id, or the fleet of this name; where there is none, leaves with exit code 2."""
    try:
        with closing(open_database(state_folder().database_path)) as database:
            found = read_whole(database, name)
    except StateError as error:
        sys.exit(could_not(error, as_json=as_json))
    if found is None:
        leave(f"there is no run {name}\nsee them: alula regen list", as_json)
    return found.run


def leave(message: str, as_json: bool) -> NoReturn:
    """Say what is wrong (first line) and what to do (the rest), and leave with exit code 2."""
    text, _, remedy = message.partition("\n")
    sys.exit(could_not(EngineUnavailable(text, remedy), as_json=as_json))
