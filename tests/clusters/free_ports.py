"""TCP ports at which nothing listens just now."""

import socket
from contextlib import ExitStack


def free_ports(count: int) -> list[int]:
    with ExitStack() as held:
        found = []
        for _ in range(count):
            one = held.enter_context(socket.socket())
            one.bind(("127.0.0.1", 0))
            found.append(one.getsockname()[1])
        return found
