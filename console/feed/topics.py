"""What screens can be told about: a name and a function that reads it from the database."""

import sqlite3
import time
from collections.abc import Callable, Mapping
from typing import Any

from console.feed.data_topic import read_data
from console.feed.jobs_reader import JobsReader
from engine.campaign.reports import read_view
from engine.watch.throttle import reasons
from state import alerts, bench, campaigns, gpus, host, job_queue, jobs, regenerations, servers
from state.engine import is_running, read_engine, read_parts
from state.fleets import with_fleets
from state.records.bench import BenchRow
from state.records.campaigns import CampaignView
from state.records.gpus import GpuProcess, GpuSample
from state.records.jobs import Job
from state.records.views import EngineView, GpuRow, GpusView, HostView, QueueView, RegenerationRow, ServerRow
from state.trends import Trend, TrendReader, gpu_trends, server_trends

Reader = Callable[[sqlite3.Connection], Any]
_NO_TRENDS: Mapping[str, Trend] = {}
SPEED_HISTORY_S = 900.0
SPEED_STEP_S = 10.0


def read_engine_view(database: sqlite3.Connection) -> EngineView:
    """The engine and its parts, without the heartbeat that changes each second."""
    engine = read_engine(database)
    return EngineView(engine, is_running(engine), tuple(read_parts(database)))


def read_host(database: sqlite3.Connection) -> HostView:
    """The host now."""
    return HostView(host.latest_host_sample(database), tuple(host.read_disks(database)))


def read_gpus(database: sqlite3.Connection, trends: Mapping[str, Trend] = _NO_TRENDS) -> GpusView:
    """Every GPU with its newest sample, its processes and the trend of its utilisation."""
    samples = gpus.latest_samples(database)
    by_gpu: dict[str, list[GpuProcess]] = {}
    for process in gpus.read_processes(database):
        by_gpu.setdefault(process.uuid, []).append(process)
    names = {job.id: job.name for job in jobs.open_jobs(database)}
    rows = [
        GpuRow(gpu, sample, tuple(found), _work(found, names), _slowed(sample), trends.get(gpu.uuid, ()))
        for gpu in gpus.read_gpus(database)
        for sample, found in [(samples.get(gpu.uuid), by_gpu.get(gpu.uuid, []))]
    ]
    return GpusView(gpus.read_status(database), tuple(rows))


def read_servers(database: sqlite3.Connection, trends: Mapping[str, Trend] = _NO_TRENDS) -> tuple[ServerRow, ...]:
    """Every server with its newest sample and the trend of its throughput."""
    samples = servers.latest_server_samples(database)
    return tuple(
        ServerRow(server, samples.get(server.url), trends.get(server.url, ()))
        for server in servers.read_servers(database)
    )


def with_trends(read: Callable[[sqlite3.Connection, Mapping[str, Trend]], Any], reader: TrendReader) -> Reader:
    """A reader that remembers the past, so that it reads that only once."""
    return lambda database: read(database, reader.read(database, time.time()))


def read_queue_view(database: sqlite3.Connection) -> QueueView:
    """Whether the queue is paused, how many jobs run and wait."""
    queue, found = job_queue.read_queue(database), jobs.open_jobs(database)
    waiting = sum(job.state == "queued" for job in found)
    return QueueView(
        running=len(found) - waiting, waiting=waiting, paused_at=queue.paused_at, paused_by=queue.paused_by
    )


def read_open_jobs(database: sqlite3.Connection) -> tuple[Job, ...]:
    """Jobs that have not ended, the newest first."""
    return tuple(reversed(jobs.open_jobs(database)))


def read_regenerations(database: sqlite3.Connection) -> tuple[RegenerationRow, ...]:
    """Every regeneration with its progress; those that run, with their speed of the last minutes."""
    until = time.time() // SPEED_STEP_S * SPEED_STEP_S  # whole steps only, so that the chart moves once in a step
    rows = []
    for run in regenerations.read_regenerations(database):
        speeds: tuple[tuple[float, float | None], ...] = ()
        if run.state == "running":
            speeds = regenerations.speed_history(database, run.id, until - SPEED_HISTORY_S, until, SPEED_STEP_S)
        progress, detail = regenerations.latest_progress(database, run.id), regenerations.read_detail(database, run.id)
        rows.append(RegenerationRow(run, progress, speeds, detail))
    return tuple(with_fleets(rows))


def read_benches(database: sqlite3.Connection) -> tuple[BenchRow, ...]:
    """Every benchmark with its progress; those that run, with their speed of the last minutes."""
    found = []
    for one in bench.read_benches(database):
        speeds: tuple[tuple[float, float | None], ...] = ()
        if one.state == "running":
            history = bench.bench_history(database, one.id, time.time() - SPEED_HISTORY_S)
            speeds = tuple((at.taken_at, at.tokens_per_s_now) for at in history)
        found.append(BenchRow(one, bench.latest_bench_progress(database, one.id), speeds))
    return tuple(found)


def read_campaigns(database: sqlite3.Connection) -> tuple[CampaignView, ...]:
    """Every campaign with its funnel, cost and outlook."""
    return tuple(read_view(database, campaign) for campaign in campaigns.read_campaigns(database))


Topics = dict[str, Reader]

_TOPICS: Topics = {
    "alert_history": lambda database: tuple(alerts.read_alerts(database)),
    "alerts": lambda database: tuple(alerts.open_alerts(database)),
    "benches": read_benches,
    "data": read_data,
    "campaigns": read_campaigns,
    "engine": read_engine_view,
    "host": read_host,
    "open_jobs": read_open_jobs,
    "queue": read_queue_view,
    "regenerations": read_regenerations,
}


def topics() -> Topics:
    """Readers for one connection; some remember what they read last."""
    return {
        **_TOPICS,
        "gpus": with_trends(read_gpus, gpu_trends()),
        "jobs": JobsReader(),
        "servers": with_trends(read_servers, server_trends()),
    }


def _work(processes: list[GpuProcess], names: dict[int, str]) -> str:
    for process in processes:
        if process.job_id is not None and process.job_id in names:
            return names[process.job_id]
    return (processes[0].command or f"pid {processes[0].pid}") if processes else ""


def _slowed(sample: GpuSample | None) -> str:
    found = reasons(sample.throttle_reasons) if sample else ()
    return ", ".join(reason.words for reason in found if reason.level != "normal")
