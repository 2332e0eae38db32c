"""A preparation from the first row to the manifest."""

import shutil
from collections.abc import Callable
from pathlib import Path

import msgspec

from engine.data.plan.records import Plan, PlanError
from engine.data.prepare.contamination import BenchmarkPrompt, benchmark_prompts
from engine.data.prepare.manifest import MANIFEST, Counts, Manifest, funnel_of, make_manifest, shares_of
from engine.data.prepare.mixing import make_mix
from engine.data.prepare.parts import Part, Tally, parts_of, write_whole
from engine.data.prepare.pool import make_parts
from engine.data.prepare.reading import Reader
from engine.data.prepare.reporting import Reporter
from engine.data.prepare.shards import write_shards
from engine.data.prepare.tokens import TokenCounter
from engine.data.prepare.work import SourceState, Work

WORK = "work"


class Preparation:
    """A plan at work in an output folder; its unfinished work lies in a folder `work` there."""

    def __init__(self, output: Path, workers: int, reporter: Reporter, stopping: Callable[[], bool]) -> None:
        self.output = output
        self.work = Work(output / WORK)
        self._workers = workers
        self._reporter = reporter
        self._stopping = stopping

    def run(self, plan: Plan, *, keep_work: bool = False) -> Manifest:
        """Go on where an earlier run was stopped, to the end.

        Raises:
            PlanError: It cannot go on.
            Stopped: A stop was asked for.
            OSError: A file cannot be written.
        """
        self._check(plan)
        prompts = self._benchmark_prompts(plan)
        self._read(plan, prompts)
        states = [state for number in range(len(plan.source)) if (state := self.work.source(number))]
        parts = self._parts(states)
        counts = Counts(plan)
        for part in parts:
            counts.add(part.source, part.tally())
        self._reporter.stage("comparing records", funnel=counts.funnel(), rows_read=counts.rows.total())
        mix = make_mix(plan, parts, self._reporter.stage)
        self._reporter.stage("writing", funnel=funnel_of(counts, mix), shares=shares_of(plan, mix))
        shards = write_shards(self.output, plan.output, mix, parts, self._reporter.stage, self._stopping)
        manifest = make_manifest(plan, states, counts, mix, parts, shards, len(prompts))
        write_whole(self.output / MANIFEST, msgspec.json.format(msgspec.json.encode(manifest), indent=1) + b"\n")
        if not keep_work:
            shutil.rmtree(self.work.folder)
        return manifest

    def finished(self) -> Manifest | None:
        """The manifest of an earlier run that came to its end."""
        path = self.output / MANIFEST
        return msgspec.json.decode(path.read_bytes(), type=Manifest) if path.exists() else None

    def _check(self, plan: Plan) -> None:
        counter = TokenCounter(plan.target)
        if any(one.native for one in plan.source) and counter.vocabulary_size is None:
            raise PlanError(
                "a native source needs target.tokenizer, to check its tokens", "give the target's tokenizer.json"
            )

    def _benchmark_prompts(self, plan: Plan) -> list[BenchmarkPrompt]:
        """Read once: what they are later must not change the outcome."""
        path = self.work.folder / "benchmarks.json"
        if not path.exists():
            self._reporter.stage("reading benchmarks")
            write_whole(path, msgspec.json.encode(list(benchmark_prompts(plan.decontamination.benchmarks))))
        return msgspec.json.decode(path.read_bytes(), type=list[BenchmarkPrompt])

    def _read(self, plan: Plan, prompts: list[BenchmarkPrompt]) -> None:
        self._reporter.stage("reading")
        reader = Reader(self.work, plan, self._stopping)
        counts = Counts(plan)
        for number in range(len(plan.source)):
            for part in parts_of(self.work.folder, number):
                counts.add(number, part.tally())
        before = counts.rows.total()

        def done(part: Part, tally: Tally) -> None:
            reader.took(part, tally)
            counts.add(part.source, tally)
            rows = counts.rows.total()
            self._reporter.rows(rows, rows - before, funnel=counts.funnel())

        make_parts(reader.blocks(), plan, prompts, self._workers, done)
        for number, source in enumerate(plan.source):
            reader.judge(number, source)

    def _parts(self, states: list[SourceState]) -> list[Part]:
        parts = []
        for number, state in enumerate(states):
            if state.skipped is None:
                parts += parts_of(self.work.folder, number)[: state.blocks]
        if not parts:
            raise PlanError("no source gave a record", "see the sources: alula data show")
        return parts
