"""Inside tmux the driver gives the same screen as Textual's own, colours included."""

import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pyte
import pytest

from tests.limits import LIMIT_S
from tests.widgets.screens import LineOfCells, shown, terminal


class Tmux:
    """A tmux server of its own with the sample application in it."""

    def __init__(self, folder: Path, driver: str, term: str) -> None:
        configuration = folder / "tmux.conf"
        configuration.write_text(f"set -g status off\nset -g default-terminal {term}\n")
        self._tmux = ["tmux", "-S", str(folder / f"{driver}.socket"), "-f", str(configuration)]
        unset = ["env", "-u", "COLORTERM", "-u", "NO_COLOR", "-u", "LINES", "-u", "COLUMNS", f"ALULA_DRIVER={driver}"]
        self.call("new-session", "-d", "-x", "90", "-y", "20", *unset, sys.executable, "-m", "tests.widgets.sample_app")

    def call(self, *arguments: str) -> str:
        return subprocess.run([*self._tmux, *arguments], check=True, capture_output=True, text=True).stdout

    def screen(self) -> str:
        return self.call("capture-pane", "-p", "-e", "-N").removesuffix("\n")

    def shown(self) -> list[LineOfCells]:
        screen = terminal(70, 18)
        pyte.Stream(screen).feed(self.screen())
        return shown(screen)

    def end(self) -> None:
        subprocess.run([*self._tmux, "kill-server"], check=False, capture_output=True)


def eventually(condition: Callable[[], bool], limit_s: float = LIMIT_S) -> bool:
    until = time.monotonic() + limit_s
    while not condition():
        if time.monotonic() > until:
            return False
        time.sleep(0.05)
    return True


@pytest.mark.parametrize("term", ["tmux-256color", "screen-256color", "screen"])
def test_the_screen_in_tmux_is_the_one_that_textual_draws(tmp_path: Path, term: str) -> None:
    if shutil.which("tmux") is None:
        pytest.skip("NOT TESTED: no tmux")
    ours, theirs = Tmux(tmp_path, "diff", term), Tmux(tmp_path, "textual", term)
    try:
        for session in (ours, theirs):
            assert eventually(lambda session=session: "palette" in session.screen())
            session.call("send-keys", "F2", "F2", "F4", "Tab", "PageDown", "F3")
            assert eventually(lambda session=session: "Really?" in session.screen())
            session.call("resize-window", "-x", "70", "-y", "18")
            assert eventually(lambda session=session: "Really?" in session.screen())
            session.call("send-keys", "Escape")
        assert eventually(lambda: "Really?" not in ours.screen() and ours.shown() == theirs.shown())
    finally:
        ours.end()
        theirs.end()
