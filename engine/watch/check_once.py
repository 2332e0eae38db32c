"""`python -m engine.watch.check_once URL [PID]`: check one running server, print its findings as JSON."""

import os
import sys

from engine.check.deployment import assemble
from engine.check.errors import SourceUnreadable
from engine.check.live import read_server
from engine.check.records import Finding, Launch, LiveServer
from engine.check.report.encoding import encoded


def check(url: str, pid: int | None) -> tuple[Finding, ...]:
    """What the checker says of a server, from its answers and, where its process is on this host, its command."""
    from engine.check.collect import setting
    from engine.check.rules import findings

    launch: Launch | None = None
    if pid is not None:
        from engine.check.sources.processes import read_process

        try:
            launch = read_process(pid)
        except SourceUnreadable:
            launch = None  # another account's, or gone: its answers still tell
    key = os.environ.get("ALULA_SERVER_API_KEY") or (setting(launch, "--api-key") if launch is not None else None)
    live: LiveServer | None = read_server(url, api_key=key)
    if live is not None and live.problem:
        if launch is None:
            sys.exit(live.problem)
        live = None
    return tuple(findings(assemble(launch, live=live)))


if __name__ == "__main__":
    found = check(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else None)
    sys.stdout.write(encoded(found).decode())
