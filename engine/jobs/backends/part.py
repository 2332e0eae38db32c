"""The part of the engine that looks after jobs on clusters."""

import asyncio
import sqlite3
from collections.abc import Sequence
from contextlib import suppress

from engine.context import EngineContext
from engine.jobs.backends.cluster import Cluster
from engine.jobs.backends.watching import ClusterWatch
from state.cluster_jobs import cluster_jobs
from state.records.jobs import Job

LOOK_S = 0.5
"""At database and files; the clusters themselves are asked less often."""
Place = tuple[str, str]


async def watch_clusters(context: EngineContext) -> None:
    """Look after every job that was handed to a cluster. One cluster that does not answer holds up no other."""
    database = context.database()
    clusters = Clusters(context, database)
    try:
        while True:
            await clusters.look(cluster_jobs(database))
            await asyncio.sleep(LOOK_S)
    finally:
        await clusters.close()
        database.close()


class Clusters:
    """The clusters that have open jobs, with the look at each that is under way."""

    def __init__(self, context: EngineContext, database: sqlite3.Connection) -> None:
        self._context = context
        self._database = database
        self._watches: dict[Place, ClusterWatch] = {}
        self._looks: dict[Place, asyncio.Task[None]] = {}

    async def look(self, jobs: Sequence[Job]) -> None:
        """Begin a look at each cluster whose last one has ended.

        Raises:
            Exception: What went wrong in a look, for the engine's supervisor.
        """
        by_place: dict[Place, list[Job]] = {}
        for job in jobs:
            by_place.setdefault(_place(job), []).append(job)
        for place in [place for place, look in self._looks.items() if look.done()]:
            self._looks.pop(place).result()
        for place, there in by_place.items():
            if place not in self._watches:
                self._watches[place] = ClusterWatch(self._context, self._database, place[1], open_cluster(place))
            if place not in self._looks:
                self._looks[place] = asyncio.create_task(self._watches[place].look(there))
        for place in self._watches.keys() - by_place.keys() - self._looks.keys():
            await self._watches.pop(place).close()

    async def close(self) -> None:
        """End all looks; the jobs go on."""
        for look in self._looks.values():
            look.cancel()
            with suppress(asyncio.CancelledError, Exception):
                await look
        for watch in self._watches.values():
            await watch.close()


def open_cluster(place: Place) -> Cluster:
    """The cluster behind a name and an address."""
    if place[0] == "slurm":
        from engine.jobs.backends.slurm import Slurm

        return Slurm()
    from engine.jobs.backends.ray import Ray

    return Ray(place[1])


def _place(job: Job) -> Place:
    # Partitions and accounts are of one Slurm, so one question serves them all.
    return (job.backend, "slurm" if job.backend == "slurm" else job.backend_address)
