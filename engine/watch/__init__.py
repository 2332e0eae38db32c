"""What the host is doing: GPUs, the host itself, servers, alerts."""
