"""Runs what an operator would type, in a thread, and says how it went."""

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from console.app import Console


def run_alula(console: "Console", words: Sequence[str], done: Callable[[str], str]) -> None:
    """`alula WORDS` on the console's state folder; `done` makes of what it printed what is said after success."""
    command = [sys.executable, "-m", "console", *words]
    environment = {**os.environ, "ALULA_HOME": str(console.folder.path)}

    def running() -> None:
        ended = subprocess.run(
            command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
        )
        failed = ended.returncode != 0
        said = ended.stderr.strip()[:300] if failed else done(ended.stdout.strip())
        console.post_message(console.Said(said, error=failed))

    threading.Thread(target=running, name=f"alula {words[0]}", daemon=True).start()
