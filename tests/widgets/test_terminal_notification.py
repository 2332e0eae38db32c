"""A desktop notification reaches the terminal, through tmux too, and never as text on the screen."""

import shlex
import shutil
import sys
from pathlib import Path

import pytest

from tests.benchmarks.pseudo_terminal import PseudoTerminal
from tests.widgets.test_terminal_driver import SAMPLE, F, screen_of, settle, wait_for
from widgets.terminal.notification import notification

CALL = b"\x1b]9;Alula: GPU 3 is "


@pytest.fixture(autouse=True)
def _outside_tmux(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TMUX", raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")


def test_what_stands_in_the_text_does_no_harm() -> None:
    sent = notification("GPU 3\x1b]0;title\x07 is\x9b31m lost\n")
    assert sent.startswith("\x1b]9;Alula: GPU 3") and sent.endswith("\x07")
    assert not any(sign in sent[2:-1] for sign in "\x1b\x07\x9b\n")


@pytest.mark.parametrize("term", ["linux", "dumb", ""])
def test_a_terminal_that_would_print_it_is_spared(term: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", term)
    assert notification("GPU 3 is lost") == ""


def test_tmux_passes_it_through(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMUX", "/tmp/tmux-0/default,1,0")
    assert notification("x") == "\x1bPtmux;\x1b\x1b]9;Alula: x\x07\x1b\\"


def test_it_leaves_the_screen_as_it_is() -> None:
    with PseudoTerminal(SAMPLE, size=(90, 20), environment={"TMUX": None, "TERM": "xterm-256color"}) as session:
        settle(session)
        before = screen_of(session.output).display
        session.send(F["call"])
        assert wait_for(session, lambda output: CALL in output)
        assert screen_of(session.output).display == before
        session.send(F["quit"])


@pytest.mark.skipif(shutil.which("tmux") is None, reason="NOT TESTED: no tmux")
def test_it_arrives_outside_tmux(tmp_path: Path) -> None:
    configuration = tmp_path / "tmux.conf"
    configuration.write_text("set -g status off\nset -g default-terminal tmux-256color\nset -g allow-passthrough on\n")
    tmux = ["tmux", "-S", str(tmp_path / "socket"), "-f", str(configuration)]
    inside = shlex.join([sys.executable, "-m", "tests.widgets.sample_app"])
    with PseudoTerminal([*tmux, "new-session", inside], size=(90, 20), environment={"TMUX": None}) as session:
        settle(session)
        session.send(F["call"])
        assert wait_for(session, lambda output: CALL in output)
        session.send(F["quit"])
