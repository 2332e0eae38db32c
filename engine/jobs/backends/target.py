"""Where a job is to run, as `--on` says it: `local`, `slurm`, `slurm://PARTITION?account=NAME`, `ray://HOST:PORT`."""

from urllib.parse import parse_qsl, urlsplit

import msgspec

from state.records.jobs import BackendName

RAY_PORT = 8265
"""Of Ray's dashboard, which answers the Jobs API (ray 2.60, dashboard/modules/job/job_head.py)."""
SLURM_OPTIONS = frozenset(
    {
        "account", "qos", "partition", "constraint", "nodelist", "exclude", "reservation", "nodes", "ntasks",
        "cpus-per-task", "mem-per-cpu", "licenses", "exclusive", "gres",
    }
)  # fmt: skip
"""Options of sbatch that an address may name."""


class Target(msgspec.Struct, frozen=True, kw_only=True):
    """One cluster, or this host."""

    backend: BackendName
    address: str = ""
    """In its shortest form: two that name the same cluster in the same way are equal."""


def parse_target(text: str) -> Target:
    """What `--on` says.

    Raises:
        ValueError: It names no cluster; the message says what would.
    """
    text = text.strip()
    if text in ("", "local"):
        return Target(backend="local")
    if text == "slurm" or text.startswith("slurm://"):
        return Target(backend="slurm", address=_slurm_address(text))
    if text.startswith("ray://"):
        return Target(backend="ray", address=_ray_address(text))
    raise ValueError(f"{text!r} is no place to run: give local, slurm, slurm://PARTITION or ray://HOST:PORT")


def slurm_options(address: str) -> dict[str, str]:
    """What an address of Slurm adds to sbatch's options."""
    parts = urlsplit(address)
    partition = {"partition": parts.netloc} if parts.netloc else {}
    return partition | dict(parse_qsl(parts.query, keep_blank_values=True))


def ray_url(address: str) -> str:
    """Of the head's dashboard, without a slash at its end."""
    return f"http://{urlsplit(address).netloc}"


def _slurm_address(text: str) -> str:
    parts = urlsplit(text if "://" in text else "slurm://")
    if parts.path.strip("/") or parts.fragment:
        raise ValueError(f"{text!r}: behind slurm:// stands a partition, then ?account=NAME and the like")
    for name, value in slurm_options(text).items():
        if name not in SLURM_OPTIONS:
            raise ValueError(f"{text!r}: {name} is none of {', '.join(sorted(SLURM_OPTIONS))}")
        if not value.isprintable():
            raise ValueError(f"{text!r}: the value of {name} cannot be printed")
    query = f"?{parts.query}" if parts.query else ""
    return f"slurm://{parts.netloc}{query}" if parts.netloc or query else "slurm"


def _ray_address(text: str) -> str:
    parts = urlsplit(text)
    try:
        port = parts.port or RAY_PORT
    except ValueError:
        raise ValueError(f"{text!r}: the port is not between 1 and 65535") from None
    if not parts.hostname or parts.path.strip("/") or parts.query or parts.username:
        raise ValueError(f"{text!r}: give ray://HOST or ray://HOST:PORT, where PORT is the dashboard's ({RAY_PORT})")
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    return f"ray://{host}:{port}"
