"""The host in one line: processors, memory, disks, network."""

import time

from textual.content import Content

from state.records.host import DiskSample, HostSample
from state.records.views import HostView
from widgets import figures
from widgets.line import Line, cut
from widgets.pane import Pane

STALE_S = 5.0
SOON_S = 12 * 3600.0


class HostStrip(Pane[HostView]):
    """Leaves out what does not fit, from the right."""

    DEFAULT_CSS = "HostStrip { height: 1; }"

    def lines(self, width: int, height: int) -> list[Line]:
        """One line."""
        if self.record is None or self.record.sample is None:
            return [Content.styled(" host  no reading yet", "$text-muted")]
        sample = self.record.sample
        parts = [*_processor(sample), *(_disk(disk) for disk in self.record.disks), *_network(sample)]
        age_s = time.time() - sample.taken_at
        line = Content.styled(" host  ", "bold")
        if age_s > STALE_S:
            line += Content.styled(f"{figures.age(age_s)}  ", "$warning")
        for part in parts:
            if line.cell_length + part.cell_length > width:
                break
            line += part + Content("   ")
        return [cut(line, width)]


def _processor(sample: HostSample) -> list[Content]:
    load = f"load {figures.fixed(sample.load_1m, 1)}/{sample.cores}"
    memory = f"memory {figures.binary_bytes_of(sample.memory_used_bytes, sample.memory_total_bytes)}"
    parts = [Content(f"cpu {figures.percent_column(sample.cpu_percent)}"), Content(load), Content(memory)]
    if sample.swap_used_bytes:
        parts.append(Content(f"swap {figures.binary_bytes(sample.swap_used_bytes)}"))
    return parts


def _disk(disk: DiskSample) -> Content:
    share = figures.share(disk.used_bytes / disk.total_bytes) if disk.total_bytes else figures.ABSENT
    text = f"disk {disk.mount} {share}, {figures.binary_bytes(disk.free_bytes)} free"
    if disk.full_in_s is not None and disk.full_in_s < SOON_S:
        return Content.styled(f"! {text}, full in {figures.duration(disk.full_in_s)}", "$error")
    return Content(text)


def _network(sample: HostSample) -> list[Content]:
    if sample.network_received_bytes_per_s is None:
        return []
    received = figures.byte_rate(sample.network_received_bytes_per_s)
    return [Content(f"net in {received} out {figures.byte_rate(sample.network_sent_bytes_per_s)}")]
