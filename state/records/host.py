"""The host: processors, memory, disks."""

import msgspec


class HostSample(msgspec.Struct, frozen=True, kw_only=True):
    """The host at one moment. `None` means that the kernel does not report the value."""

    taken_at: float
    cpu_percent: float | None
    load_1m: float | None
    load_5m: float | None
    load_15m: float | None
    cores: int
    memory_used_bytes: int | None
    memory_total_bytes: int | None
    swap_used_bytes: int | None
    swap_total_bytes: int | None
    network_received_bytes_per_s: float | None = None
    network_sent_bytes_per_s: float | None = None
    pressure_cpu_percent: float | None = None
    pressure_memory_percent: float | None = None
    pressure_io_percent: float | None = None


class DiskSample(msgspec.Struct, frozen=True, kw_only=True):
    """A file system that holds runs or checkpoints."""

    mount: str
    taken_at: float
    purpose: str
    used_bytes: int
    total_bytes: int
    free_bytes: int
    inodes_free: int | None = None
    inodes_total: int | None = None
    full_in_s: float | None = None
    """Seconds until full at the present rate; `None` where it is not filling."""
