"""Places to run, as they are written."""

import pytest

from engine.jobs.backends.target import Target, parse_target, ray_url, slurm_options


@pytest.mark.parametrize(
    ("text", "backend", "address"),
    [
        ("local", "local", ""),
        ("", "local", ""),
        ("slurm", "slurm", "slurm"),
        ("slurm://", "slurm", "slurm"),
        ("slurm://gpu", "slurm", "slurm://gpu"),
        ("slurm://gpu?account=ai&cpus-per-task=16", "slurm", "slurm://gpu?account=ai&cpus-per-task=16"),
        ("slurm://?qos=high", "slurm", "slurm://?qos=high"),
        ("ray://head", "ray", "ray://head:8265"),
        ("ray://head/", "ray", "ray://head:8265"),
        ("ray://10.0.0.7:9000", "ray", "ray://10.0.0.7:9000"),
        ("ray://[::1]:9000", "ray", "ray://[::1]:9000"),
    ],
)
def test_understood(text: str, backend: str, address: str) -> None:
    assert parse_target(text) == Target(backend=backend, address=address)  # type: ignore[arg-type]
    if address:
        assert parse_target(address) == parse_target(text)


@pytest.mark.parametrize(
    "text",
    [
        "kubernetes", "ray", "ray://", "ray://head:99999", "ray://head:x", "ray://user@head", "http://head:8265",
        "slurm://gpu/more", "slurm://gpu?wrap=rm", "slurm://gpu?output=/etc/passwd", "slurm://gpu?qos=%0a", "slurms",
    ],
)  # fmt: skip
def test_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"ray://|slurm|port"):
        parse_target(text)


def test_parts_of_addresses() -> None:
    assert slurm_options("slurm://gpu?account=ai") == {"partition": "gpu", "account": "ai"}
    assert slurm_options("slurm") == {}
    assert ray_url("ray://head:8265") == "http://head:8265"
    assert ray_url("ray://[::1]:8265") == "http://[::1]:8265"
