"""Every kind of command that the engine obeys."""

from typing import Any

import msgspec

from engine.bench.requests import BENCH_HANDLERS
from engine.campaign.requests import CAMPAIGN_HANDLERS
from engine.commands import Handler, Request
from engine.context import Refusal
from engine.data.requests import DATA_HANDLERS
from engine.jobs.requests import JOB_HANDLERS
from engine.regen.requests import REGENERATION_HANDLERS
from engine.watch.commands import server_handlers
from state.alerts import acknowledge_alert


class AlertArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Arguments of `alerts.acknowledge`."""

    alert_id: int


def acknowledge(request: Request) -> dict[str, Any]:
    """Record that somebody has seen an alert."""
    wanted = msgspec.convert(request.arguments, AlertArguments)
    if not acknowledge_alert(request.database, wanted.alert_id, request.now):
        raise Refusal(f"there is no open alert {wanted.alert_id}", "see them: alula alerts")
    return {"alert_id": wanted.alert_id}


def stop_engine(request: Request) -> dict[str, Any]:
    """End the engine once this answer is stored. Jobs go on; the next engine takes them up."""
    request.context.stopping.set()
    return {}


HANDLERS: dict[str, Handler] = {
    "alerts.acknowledge": acknowledge,
    "engine.stop": stop_engine,
    **BENCH_HANDLERS,
    **CAMPAIGN_HANDLERS,
    **DATA_HANDLERS,
    **JOB_HANDLERS,
    **REGENERATION_HANDLERS,
    **server_handlers(),
}
