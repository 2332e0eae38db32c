"""One server: what it is, what it does, what happened to it, and its past."""

import sqlite3
import time

from textual.content import Content

from console.screens.charted import ChartedScreen
from state.outside_text import plain_line
from state.records.servers import ServerEvent
from state.records.views import ServerRow
from state.servers import read_server_events, server_history
from widgets import figures
from widgets.chart import ChartRecord, Series
from widgets.facts import Fact
from widgets.servers.columns import accept_length

EVENTS_SHOWN = 4


class ServerScreen(ChartedScreen):
    """Tokens a second over time; the accept length on its own scale is in the facts."""

    TITLE_TEXT = "Server"
    BELONGS_TO = "Servers"
    TOPICS = frozenset({"servers"})

    def __init__(self, row: ServerRow) -> None:
        super().__init__()
        self.row = row
        self.events: list[ServerEvent] = []

    def title_text(self) -> str:
        """Its URL."""
        return plain_line(f"Server {self.row.server.url}", 100)

    def take(self, topic: str, record: tuple[ServerRow, ...]) -> None:
        """Show this server as it stands now."""
        self.row = next((row for row in record if row.server.url == self.row.server.url), self.row)
        self.show_facts()

    def facts(self) -> tuple[Fact, ...]:
        """Identity, speculation, load, latency, events."""
        server, sample = self.row.server, self.row.sample
        words = [server.health, server.health_message, f"answered {figures.age(time.time() - server.seen_at)}"]
        draft = server.draft_model or figures.ABSENT
        speculation = f"{server.speculative_algorithm or 'off'}   draft {draft}   accept length"
        facts: list[Fact] = [
            ("state", plain_line(", ".join(filter(None, words)))),
            ("serves", plain_line(f"{server.model or figures.ABSENT}   {server.framework} {server.version}")),
            ("speculates", Content(plain_line(speculation)) + Content(" ") + accept_length(self.row)),
        ]
        if sample is not None:
            running = (
                f"{figures.count(sample.running_requests)} running, {figures.count(sample.queued_requests)} queued"
            )
            facts.append(
                ("load", f"{figures.rate(sample.tokens_per_s)}   {running}   KV {figures.share(sample.token_usage)}")
            )
            ttft = f"TTFT {figures.milliseconds(sample.ttft_p50_s)} p50, {figures.milliseconds(sample.ttft_p95_s)} p95"
            itl = f"ITL {figures.milliseconds(sample.itl_p50_s)} p50, {figures.milliseconds(sample.itl_p95_s)} p95"
            facts.append(("latency", f"{ttft}   {itl}"))
        flags = "  ".join(f"{name}={value}" for name, value in sorted(server.flags.items()) if value is not None)
        facts.append(("flags", plain_line(flags) or figures.ABSENT))
        for event in self.events:
            at = time.strftime("%a %H:%M:%S", time.localtime(event.at))
            facts.append((event.kind, plain_line(f"{at}  {event.message}")))
        return tuple(facts)

    def read_chart(self, database: sqlite3.Connection, span_s: float, now: float, name: str) -> ChartRecord:
        """Tokens a second."""
        self.events = read_server_events(database, self.row.server.url, EVENTS_SHOWN)
        samples = server_history(database, self.row.server.url, now - span_s, now, now)
        speed = Series("tokens/s", tuple((sample.taken_at, sample.tokens_per_s) for sample in samples))
        return ChartRecord(f"Tokens a second, last {name}", "tok/s", (speed,))
