"""What consoles may ask of a run while it works: other servers, concurrency, thresholds."""

from pathlib import Path
from typing import Any, Literal

import msgspec

from engine.commands import Handler, Request
from engine.context import Refusal
from engine.regen.plan import PlanError, read_plan
from engine.regen.records import FlawKind
from engine.regen.steering import ServerEntry, Steering, read_steering, write_steering
from state.records.regeneration import Regeneration
from state.regenerations import find_regenerations


class SteerArguments(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Arguments of `regen.steer`. What is not given stays."""

    name: str
    """Name or id of the run, or the name of a fleet: then of all its shards."""
    add: ServerEntry | None = None
    remove: str | None = None
    """URL of a server that is to be asked no more."""
    concurrency: int | Literal["auto"] | None = None
    pause_at: dict[FlawKind, float] = {}
    """Shares above which the run pauses; 1 is never."""


def steer(request: Request) -> dict[str, Any]:
    """Write the operator's wishes into the run folders, where the workers find them within a second."""
    wanted = msgspec.convert(request.arguments, SteerArguments)
    runs = find_regenerations(request.database, wanted.name)
    if not runs:
        raise Refusal(f"there is no run {wanted.name}", "see them: alula regen list")
    own = wanted
    if isinstance(wanted.concurrency, int):
        _checked_concurrency(wanted.concurrency)
        own = msgspec.structs.replace(wanted, concurrency=max(1, wanted.concurrency // len(runs)))
    each = [_steer_one(run, own) for run in runs]
    steering = each[0]
    if steering.concurrency is not None:
        steering = msgspec.structs.replace(steering, concurrency=steering.concurrency * len(runs))
    return {"name": runs[0].fleet if len(runs) > 1 else runs[0].name, **msgspec.to_builtins(steering)}


def _steer_one(run: Regeneration, wanted: SteerArguments) -> Steering:
    folder = Path(run.run_folder)
    try:
        steering = _changed(read_steering(folder, read_plan(folder)), wanted)
        write_steering(folder, steering)
    except PlanError as error:
        raise Refusal(str(error), error.remedy) from error
    except (OSError, ValueError, RecursionError) as error:
        raise Refusal(f"cannot change {run.name}: {error}", f"look at {folder / 'steering.json'}") from error
    return steering


def _changed(steering: Steering, wanted: SteerArguments) -> Steering:
    if wanted.remove is not None:
        url = wanted.remove.rstrip("/")
        if url not in {entry.url for entry in steering.servers}:
            raise Refusal(f"{url} is no server of this run", f"see them: alula regen servers {wanted.name}")
        steering = steering.without_server(url)
    if wanted.add is not None:
        steering = steering.with_server(checked_entry(wanted.add))
    if wanted.concurrency is not None:
        steering = msgspec.structs.replace(steering, concurrency=_checked_concurrency(wanted.concurrency))
    return msgspec.structs.replace(steering, pause_at={**steering.pause_at, **wanted.pause_at})


def checked_entry(entry: ServerEntry) -> ServerEntry:
    """A server with its URL in one form.

    Raises:
        Refusal: It is no URL, or its weight is none.
    """
    if not entry.url.startswith(("http://", "https://")):
        raise Refusal(f"{entry.url!r} is no URL", "give http://HOST:PORT")
    if not 0.01 <= entry.weight <= 100:
        raise Refusal(f"a weight of {entry.weight:g}", "give 0.01 to 100")
    return ServerEntry(entry.url.rstrip("/"), entry.weight)


def _checked_concurrency(concurrency: int | Literal["auto"]) -> int | None:
    if concurrency == "auto":
        return None
    if not 1 <= concurrency <= 4096:
        raise Refusal(f"a concurrency of {concurrency}", "give 1 to 4096, or auto")
    return concurrency


STEERING_HANDLERS: dict[str, Handler] = {"regen.steer": steer}
