"""The figures in a job's log as charts, read in a thread while the log grows."""

import asyncio
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from console.screens.job_charts import MetricChart, charts_of, heading, record_of
from engine.jobs.log_series import LogMetricsReader, MetricSeries
from widgets.chart import Chart

FIRST_BYTES = 32 << 20
"""Of a long log, read at first; more keeps a processor busy for long. `alula jobs metrics` reads it all."""
PIECE_BYTES = 256 << 10
PAUSE_S = 0.01
"""Between pieces, so that keys are not kept waiting."""
LOOK_S = 1.0


class JobMetrics(Chart):
    """Hidden until the log has figures, and after the last of them was looked at."""

    def __init__(self, log: Path, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._log = log
        self._charts: tuple[MetricChart, ...] = ()
        self._chosen: tuple[str, str] | None = None
        self._off = self._newest = False
        self._skipped = 0
        self._units: Mapping[str, str] = {}

    def start(self, patterns: Sequence[re.Pattern[str]], units: Mapping[str, str]) -> None:
        """Read on until the screen is closed."""
        self._units = units
        reader = LogMetricsReader(self._log, patterns, FIRST_BYTES)
        self.run_worker(self._follow(reader), exclusive=True, group="metrics")

    def switch(self, step: int) -> None:
        """The next chart; after the last one none, then the first."""
        if not self._charts:
            self.notify("its log has shown no figures yet")
            return
        places = [*range(len(self._charts)), None]
        place = places[(places.index(None if self._off else self._place()) + step) % len(places)]
        self._off = place is None
        if place is not None:
            self._chosen = _key(self._charts[place])
        self._draw(at_once=True)

    def zoom(self) -> None:
        """The newest values, or all."""
        self._newest = not self._newest
        self._draw(at_once=True)

    async def _follow(self, reader: LogMetricsReader) -> None:
        while True:
            more, series = await asyncio.to_thread(_read, reader)
            self._skipped = reader.skipped
            self._take(series)
            await asyncio.sleep(PAUSE_S if more else LOOK_S)

    def _take(self, series: Sequence[MetricSeries]) -> None:
        first = not self._charts
        self._charts = charts_of(series, self._units)
        self._draw(at_once=first)

    def _place(self) -> int:
        return next((place for place, one in enumerate(self._charts) if _key(one) == self._chosen), 0)

    def _draw(self, *, at_once: bool = False) -> None:
        self.display = bool(self._charts) and not self._off
        if not self.display:
            return
        place = self._place()
        chart = self._charts[place]
        self.show(record_of(chart, newest=self._newest), at_once=at_once)
        title = heading(chart, place, len(self._charts), newest=self._newest, skipped=self._skipped)
        if self.border_title != title:
            self.border_title = title


def _key(chart: MetricChart) -> tuple[str, str]:
    return chart.title, chart.name


def _read(reader: LogMetricsReader) -> tuple[bool, list[MetricSeries]]:
    more = reader.read(PIECE_BYTES)
    return more, reader.series()
