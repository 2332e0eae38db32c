"""The parts of the engine. Each runs supervised, beside the others."""

from engine.commands import obey_commands
from engine.context import EngineContext, Part
from engine.handlers import HANDLERS
from engine.jobs.scheduler import schedule_jobs


async def _obey(context: EngineContext) -> None:
    await obey_commands(context, HANDLERS)


PARTS: tuple[Part, ...] = (
    Part("commands", _obey),
    Part("jobs", schedule_jobs),
)
