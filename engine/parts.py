"""The parts of the engine. Each runs supervised, beside the others."""

from pathlib import Path

from engine.bench.abandoned import watch_benchmarks
from engine.campaign.part import campaigns_part
from engine.commands import obey_commands
from engine.context import EngineContext, Part
from engine.handlers import HANDLERS
from engine.jobs.backends.part import watch_clusters
from engine.jobs.readiness import watch_readiness
from engine.jobs.scheduler import schedule_jobs
from engine.regen.revival import revive_regenerations
from engine.watch.parts import watch_parts


async def _obey(context: EngineContext) -> None:
    await obey_commands(context, HANDLERS)


def all_parts(recording: Path | None = None) -> tuple[Part, ...]:
    """Every part; with a recording, that is played in place of watching this host."""
    return (
        Part("commands", _obey),
        Part("jobs", schedule_jobs),
        Part("clusters", watch_clusters),
        Part("readiness", watch_readiness),
        Part("regenerations", revive_regenerations),
        Part("benchmarks", watch_benchmarks),
        Part("campaigns", campaigns_part(HANDLERS)),
        *watch_parts(recording),
    )


PARTS: tuple[Part, ...] = all_parts()
