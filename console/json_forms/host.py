"""Of the commands that watch the host."""

from typing import TypedDict

from console.command_line.status_lines import Status
from console.json_forms.common import Forms
from engine.doctor.records import Examination
from state.records.alerts import Alert
from state.records.gpus import Gpu, GpuHealth, GpuProcess, GpuSample, GpuStatus
from state.records.servers import Server, ServerRank, ServerSample


class Gpus(TypedDict):
    """GPUs with their newest samples."""

    status: GpuStatus | None
    gpus: list[Gpu]
    samples: list[GpuSample]
    health: list[GpuHealth]
    processes: list[GpuProcess]


class Servers(TypedDict):
    """Inference servers with their newest samples."""

    servers: list[Server]
    samples: list[ServerSample]
    ranks: list[ServerRank]


class Added(TypedDict):
    """Whether the server was not watched before."""

    url: str
    added: bool


class Removed(TypedDict):
    """Whether the server was watched."""

    url: str
    removed: bool


class Acknowledged(TypedDict):
    """The alert stays open, and no longer calls."""

    alert_id: int


FORMS: Forms = {
    "alerts": {"": list[Alert]},
    "alerts ack": {"": Acknowledged},
    "doctor": {"": list[Examination]},
    "gpus": {"": Gpus},
    "servers": {"": Servers},
    "servers add": {"": Added},
    "servers remove": {"": Removed},
    "status": {"": Status},
}
