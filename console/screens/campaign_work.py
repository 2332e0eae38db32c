"""The screen that shows the work of a campaign's step."""

from contextlib import closing

from console.screens.frame import FrameScreen
from state.bench import find_bench, latest_bench_progress
from state.database import open_database
from state.folder import StateFolder
from state.jobs import read_job
from state.records.bench import BenchRow
from state.records.campaigns import CampaignStep
from state.records.views import RegenerationRow
from state.regenerations import find_regeneration, latest_progress


def work_screen(folder: StateFolder, step: CampaignStep) -> FrameScreen | None:
    """Its benchmark or regeneration, else its newest job; `None` where it has none yet."""
    with closing(open_database(folder.database_path)) as database:
        if step.kind == "bench" and (bench := find_bench(database, step.work)) is not None:
            from console.screens.bench_run import BenchRunScreen

            return BenchRunScreen(BenchRow(bench, latest_bench_progress(database, bench.id)))
        if step.kind == "regen" and (run := find_regeneration(database, step.work)) is not None:
            from console.screens.regeneration import RegenerationScreen

            return RegenerationScreen(RegenerationRow(run, latest_progress(database, run.id)))
        job = read_job(database, step.job_ids[-1]) if step.job_ids else None
    if job is None:
        return None
    from console.screens.job import JobScreen

    return JobScreen(job)
