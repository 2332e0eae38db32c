"""The driver in a real terminal: the same screens as Textual's own driver, and a quiet end when the line is lost."""

import os
import re
import signal
import sys
from collections.abc import Callable, Iterator

import psutil
import pyte
import pytest

from tests.benchmarks.pseudo_terminal import PseudoTerminal
from tests.widgets.screens import shown, terminal
from widgets.terminal.painter import Painter

SAMPLE = [sys.executable, "-m", "tests.widgets.sample_app"]
QUIET_S = 0.15
F = {
    "step": b"\x1bOQ",
    "ask": b"\x1bOR",
    "theme": b"\x1bOS",
    "copy": b"\x1b[15~",
    "bell": b"\x1b[17~",
    "call": b"\x1b[18~",
    "quit": b"\x1b[21~",
}


def wait_for(session: PseudoTerminal, condition: Callable[[bytes], bool]) -> bool:
    return session.read_until(condition, limit_s=10)


def settle(session: PseudoTerminal) -> None:
    """Read until the program has been quiet for a while."""
    wait_for(session, lambda output: b"Quit" in output)
    while session.read(QUIET_S):
        pass


def play(driver: str, **environment: str | None) -> PseudoTerminal:
    session = PseudoTerminal(SAMPLE, size=(90, 20), environment={"ALULA_DRIVER": driver, **environment})
    wait_for(session, lambda output: b"Quit" in output)
    for keys in (F["step"], F["step"], b"\t\x1b[B\x1b[B", F["theme"], F["ask"]):
        session.send(keys)
        session.read(QUIET_S)
    wait_for(session, lambda output: shows(output, "Really?"))
    session.send(b"\x1b")
    wait_for(session, lambda output: not shows(output, "Really?"))
    session.send(F["step"] + b"\x1b[6~" * 5)
    wait_for(session, lambda output: shows(output, "step 3") and shows(output, "39"))
    return session


def shows(output: bytes, text: str) -> bool:
    return any(text in line for line in screen_of(output).display)


def agree(one: PseudoTerminal, other: PseudoTerminal) -> bool:
    """Whether both come to show the same; frames may still be on their way."""
    return wait_for(
        one,
        lambda output: bool(other.read(0.05) or True) and shown(screen_of(output)) == shown(screen_of(other.output)),
    )


def screen_of(output: bytes, width: int = 90, height: int = 20) -> pyte.Screen:
    screen = terminal(width, height)
    pyte.ByteStream(screen).feed(drawn(output).encode())
    return screen


def drawn(output: bytes) -> str:
    """Without the keyboard protocol, which pyte takes for a cursor restore."""
    return re.sub(r"\x1b\[[<>=?][0-9;]*u|\x1b\[\?[0-9]+\$p", "", output.decode(errors="ignore"))


@pytest.mark.parametrize(
    "environment",
    [
        {},
        {"COLORTERM": None},
        {"TERM": "tmux-256color", "COLORTERM": None},
        {"TERM": "linux", "COLORTERM": None, "ALULA_ASCII": "0"},
    ],
    ids=["truecolour", "256", "tmux", "linux"],
)
def test_the_screen_is_the_one_that_textual_draws(environment: dict[str, str | None]) -> None:
    with play("diff", **environment) as ours, play("textual", **environment) as theirs:
        assert agree(ours, theirs)
        assert len(ours.output) < len(theirs.output) / 2


def test_a_recorded_stream_gives_the_same_screen_at_every_step() -> None:
    with play("textual") as session:
        stream = drawn(session.output)
    full, changes = terminal(90, 20), terminal(90, 20)
    painter = Painter(90, 20)
    whole, diffed = pyte.Stream(full), pyte.Stream(changes)
    for frame in re.split(r"(?=\x1b\[1;1H)", stream):
        whole.feed(frame)
        diffed.feed(painter.feed(frame))
        assert shown(changes) == shown(full)


@pytest.fixture
def session() -> Iterator[PseudoTerminal]:
    with PseudoTerminal(SAMPLE, size=(90, 20)) as session:
        settle(session)
        yield session


def test_after_a_resize_the_screen_is_drawn_afresh(session: PseudoTerminal) -> None:
    session.resize(60, 12)
    settle(session)
    before = len(session.output)
    session.resize(70, 14)

    def complete(output: bytes) -> bool:
        text = "\n".join(screen_of(output[before:], 70, 14).display)
        return "SampleApp" in text and "Step" in text

    assert wait_for(session, complete)


def test_suspended_and_resumed_it_shows_the_same(session: PseudoTerminal) -> None:
    before = shown(screen_of(session.output))
    os.kill(session.pid, signal.SIGTSTP)
    assert wait_for(session, lambda output: b"\x1b[?1049l" in output)
    assert wait_for(session, lambda _: psutil.Process(session.pid).status() == psutil.STATUS_STOPPED)
    length = len(session.output)
    os.kill(session.pid, signal.SIGCONT)
    wait_for(session, lambda output: b"SampleApp" in output[length:])
    assert wait_for(session, lambda output: shown(screen_of(output[length:])) == before)


def test_the_clipboard_and_the_bell_reach_the_terminal(session: PseudoTerminal) -> None:
    session.send(F["copy"])
    assert wait_for(session, lambda output: b"\x1b]52;c;dG8gdGhlIGNsaXBib2FyZA==" in output)


def test_pasted_text_arrives(session: PseudoTerminal) -> None:
    session.send(b"\x1b[200~pasted words\x1b[201~")
    assert wait_for(session, lambda output: shows(output, "pasted words"))


def test_a_lone_escape_arrives(session: PseudoTerminal) -> None:
    session.send(F["ask"])
    assert wait_for(session, lambda output: shows(output, "Really?"))
    session.send(b"\x1b")
    assert wait_for(session, lambda output: not shows(output, "Really?"))


def test_without_colour_no_colour_code_is_sent() -> None:
    with play("diff", NO_COLOR="1") as session:
        for codes in re.findall(rb"\x1b\[([0-9;]*)m", session.output):
            assert all(int(code or 0) < 30 for code in codes.split(b";")), codes


def test_leaving_gives_the_terminal_back(session: PseudoTerminal) -> None:
    session.send(F["quit"])
    assert session.wait() == 0
    assert b"\x1b[?1049l" in session.output
    assert b"Traceback" not in session.output


def test_a_lost_connection_ends_it_with_the_code_of_a_hang_up(session: PseudoTerminal) -> None:
    session.close()
    assert session.wait() == 129
