"""Measures every cell of a plan that is not yet complete: point after point, load after load, round after round."""

import asyncio
import logging
import time
from pathlib import Path

import msgspec

from engine.bench.asking import Asker, Target
from engine.bench.cells import COMPARISON, CellFile, Problem, cell_name, cell_path, problem_path, read_end, write_json
from engine.bench.comparison import compare_folder
from engine.bench.equality import examine
from engine.bench.load import LoadEnd, LoadRun
from engine.bench.power import drawn
from engine.bench.progress import Progress
from engine.bench.prompts import read_prompts
from engine.bench.provenance import Subject, api_key, inspect, page
from engine.bench.records import BenchError, CellEnd, Failed, Load, Plan, Point
from engine.bench.servers import Serving, serving
from engine.bench.tuning import next_point, tuned
from engine.bench.wire import Connections, address_of

WATCHER_S = 1.5
"""A sample of the watcher is stored so long after it was taken."""
log = logging.getLogger("bench")


class BenchRun:
    """One pass over a run folder."""

    def __init__(self, folder: Path, plan: Plan, progress: Progress) -> None:
        self.folder, self.plan, self.progress = folder, plan, progress
        self.prompts = read_prompts(plan.prompts)
        self.problems: dict[str, Problem] = {}
        self._key = api_key(plan)

    async def work(self, stopping: asyncio.Event) -> None:
        """Go on until every cell is complete or was tried, or `stopping` is set. A failing point ends only itself."""
        if self.plan.kind == "tune":
            await self._search(stopping)
            return
        for repeat in range(self.plan.repeats):
            # Back and forth, so that a machine that warms up or slows down does not favour the first.
            points = self.plan.points if repeat % 2 == 0 else tuple(reversed(self.plan.points))
            for point in points:
                await self._try(point, repeat, stopping)

    async def _search(self, stopping: asyncio.Event) -> None:
        """Measure what the measured ones call for, until no untried point can win."""
        tried: set[str] = set()
        while not stopping.is_set():
            point = next_point(self.plan, compare_folder(self.folder), tried)
            if point is None:
                break
            tried.add(point.name)
            for repeat in range(self.plan.repeats):
                await self._try(point, repeat, stopping)
        for point in self.plan.points:
            if point.name not in tried and not stopping.is_set():
                self.progress.skip(point.name)

    async def _try(self, point: Point, repeat: int, stopping: asyncio.Event) -> None:
        loads = self._missing(point, repeat)
        if not loads or stopping.is_set():
            return
        self.progress.point(point.name, repeat)
        try:
            await self._point(point, repeat, loads, stopping)
        except BenchError as error:
            log.error("%s: %s; %s", point.name, error, error.remedy)
            self._fail(point, Problem(str(error), error.remedy))
        # Written for screens, which need then neither numpy nor a second of reckoning.
        write_json(self.folder / COMPARISON, tuned(self.folder))

    def _missing(self, point: Point, repeat: int) -> list[Load]:
        return [load for load in self.plan.loads if read_end(self.folder, cell_name(point.name, load, repeat)) is None]

    def _fail(self, point: Point, problem: Problem) -> None:
        self.problems[point.name] = problem
        write_json(problem_path(self.folder, point.name), problem)
        self.progress.skip(point.name)

    async def _point(self, point: Point, repeat: int, loads: list[Load], stopping: asyncio.Event) -> None:
        began = time.monotonic()
        async with serving(point, self.folder, self.progress.say) as server:
            self.progress.say("asking it what it is, and checking it")
            subject = await inspect(self.plan, point, server.url, server.pid)
            write_json(self.folder / "points" / f"{point.name}.json", subject.provenance)
            self.progress.started(time.monotonic() - began)
            for load in loads:
                await self._cell(point, repeat, load, server, subject, stopping)
                if stopping.is_set():
                    return
            if point.name != self.plan.baseline and self.plan.baseline:
                self.progress.say("comparing its answers with the baseline's")
                await examine(self.folder, self.plan, point, self._asker(server, subject), subject.provenance)
        problem_path(self.folder, point.name).unlink(missing_ok=True)

    def _asker(self, server: Serving, subject: Subject) -> Asker:
        provenance = subject.provenance
        target = Target(
            api=provenance.api,
            model=provenance.model or "default",
            sampling=self.plan.sampling,
            stream=self.plan.stream,
            incremental=subject.incremental,
        )
        return Asker(Connections(address_of(server.url), self._key), target, subject.template)

    async def _cell(
        self, point: Point, repeat: int, load: Load, server: Serving, subject: Subject, stopping: asyncio.Event
    ) -> None:
        name = cell_name(point.name, load, repeat)
        asker = self._asker(server, subject)
        file = CellFile(self.folder, name)
        run = LoadRun(asker, load, self.prompts, file.keep, seed=self.plan.prompts.seed + repeat)
        self.progress.cell(name, load, run.tally)
        try:
            await self._flush(server.url)
            await run.warm_up(stopping)
            await self._flush(server.url)
            began_at = time.time()
            end = await run.run(stopping)
        finally:
            file.close()
            asker.close()
        if stopping.is_set():
            return
        await asyncio.sleep(min(WATCHER_S, end.wall_s))
        draw = await asyncio.to_thread(drawn, began_at, began_at + end.wall_s, self.plan.gpus, server.job_id)
        ended = _ended(point, load, repeat, began_at, end)
        ended = msgspec.structs.replace(ended, power_w=draw.power_w, memory_bytes=draw.memory_bytes)
        write_json(cell_path(self.folder, name, "end.json"), ended)
        self.progress.finish(end.wall_s)
        if end.ended_early:
            raise BenchError(f"{load.name}: {end.ended_early}", "see its log, then measure again with --resume")

    async def _flush(self, url: str) -> None:
        """Empty the prefix cache, else a second load finds what the first one left (sglang, `/flush_cache`)."""
        if not self.plan.flush_cache:
            return
        connections = Connections(address_of(url), self._key)
        try:
            await page(connections, "POST", "/flush_cache")
        except Failed as error:
            log.warning("the prefix cache could not be emptied: %s", error)
        finally:
            connections.close()


def _ended(point: Point, load: Load, repeat: int, began_at: float, end: LoadEnd) -> CellEnd:
    return CellEnd(
        point=point.name,
        load=load,
        repeat=repeat,
        began_at=began_at,
        wall_s=end.wall_s,
        client=end.client,
        ended_early=end.ended_early,
    )
