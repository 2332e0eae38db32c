"""What the commands of `alula data` share."""

import sys
from typing import Any, NoReturn

import click
import msgspec

from console.command_line.live_view import could_not
from engine.client import EngineUnavailable

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


def leave(message: str, remedy: str, *, as_json: bool) -> NoReturn:
    """Say on standard error what is wrong and what to do, and end with 2."""
    sys.exit(could_not(EngineUnavailable(message, remedy), as_json=as_json))


def mapping_of(pairs: tuple[str, ...], *, as_json: bool) -> Any:
    """The mapping that `--map ROLE=COLUMNS` gives; `None` where none was given."""
    from engine.data.records import Mapping

    if not pairs:
        return None
    roles = [field.name for field in msgspec.structs.fields(Mapping)]
    found: dict[str, str] = {}
    for pair in pairs:
        role, equals, columns = pair.partition("=")
        if not equals or role not in roles or not columns:
            leave(f"--map {pair}", f"write ROLE=COLUMN with a role of: {', '.join(roles)}", as_json=as_json)
        found[role] = columns.replace("\\n", "\n")
    return msgspec.convert(found, Mapping)
