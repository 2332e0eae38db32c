"""Runs Alula's own commands for the demonstration, on a state folder that is thrown away."""

import os
import shlex
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
import msgspec


class CommandFailed(Exception):
    """A command of the demonstration did not do what it should."""


class Commands:
    """Alula's command line for one state folder."""

    def __init__(self, folder: Path, *, quiet: bool) -> None:
        self.folder = folder
        self.quiet = quiet
        self.closed = False
        """Set when the demonstration is left: no further command is run."""
        self.environment = {**os.environ, "ALULA_HOME": str(folder), "HF_HUB_OFFLINE": "1"}

    def run(self, *words: str, allowed: Sequence[int] = (0,)) -> str:
        """Run `alula WORDS`, showing the command; returns what it prints.

        Raises:
            CommandFailed: It ended with another exit code than the allowed ones.
        """
        shown = shlex.join(_short(word) for word in words).replace(f"{_short(sys.executable)} -m console", "alula")
        self.say(f"$ alula {shown}", bold=True)
        done = self._run(words)
        if done.returncode not in allowed:
            raise CommandFailed(f"alula {shlex.join(words)}: exit {done.returncode}\n{done.stderr.strip()}")
        return done.stdout

    def ask(self, *words: str, allowed: Sequence[int] = (0,)) -> Any:
        """Run `alula WORDS --json` without showing it; returns the decoded answer.

        Raises:
            CommandFailed: It ended with another exit code than the allowed ones.
        """
        done = self._run((*words, "--json"))
        if done.returncode not in allowed:
            raise CommandFailed(f"alula {shlex.join(words)}: exit {done.returncode}\n{done.stderr.strip()}")
        return msgspec.json.decode(done.stdout)

    def say(self, text: str = "", *, bold: bool = False) -> None:
        """Print a line, unless the console is on the screen."""
        if not self.quiet:
            click.secho(text, bold=bold)

    def _run(self, words: Sequence[str]) -> "subprocess.CompletedProcess[str]":
        if self.closed:
            raise CommandFailed("left before its end")
        return subprocess.run(
            [sys.executable, "-m", "console", *words],
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )


def _short(word: str) -> str:
    """Long paths by their last parts: what is shown is for reading, not for copying."""
    return ".../" + "/".join(Path(word).parts[-2:]) if word.startswith("/") and len(word) > 30 else word
