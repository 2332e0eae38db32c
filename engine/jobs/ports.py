"""TCP ports: which are free, and one that is."""

import errno
import socket
from collections.abc import Collection

LAST_PORT = 65535
_NO_IPV6 = frozenset({errno.EAFNOSUPPORT, errno.EADDRNOTAVAIL})


def is_free(port: int) -> bool:
    """Whether a server could listen at this port of any address of this host now."""
    for family, address in ((socket.AF_INET, "0.0.0.0"), (socket.AF_INET6, "::")):
        try:
            with socket.socket(family, socket.SOCK_STREAM) as probe:
                # As servers do: a port whose last connections are still being closed can be taken.
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                if family == socket.AF_INET6:
                    probe.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
                probe.bind((address, port))
        except OSError as error:
            if family == socket.AF_INET or error.errno not in _NO_IPV6:
                return False
    return True


def free_port(first: int, taken: Collection[int] = ()) -> int | None:
    """The first free port from `first` on that is not among `taken` (those that queued jobs will want)."""
    return next((port for port in range(first, LAST_PORT + 1) if port not in taken and is_free(port)), None)
