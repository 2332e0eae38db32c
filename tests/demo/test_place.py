"""Where a demonstration keeps its state, and which one is gone on with."""

import os
from pathlib import Path

import pytest

from console.demo.fault import Fault
from console.demo.place import forget, remember, take_place

FAULT = Fault(accept_length_eagle=1.0, finding="x", accept_length_eagle3=1.7)


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))


def killed() -> Path:
    """A folder that a killed process has left: its lock is free again."""
    place = take_place()
    remember(place.folder, FAULT)
    assert place.lock is not None
    os.close(place.lock)
    return place.folder


def test_one_that_was_killed_is_gone_on_with_once_at_a_time() -> None:
    folder = killed()
    first = take_place()
    assert (first.folder, first.fault) == (folder, FAULT)
    assert take_place().folder != folder, "somebody has it"


def test_one_that_ended_or_had_not_begun_its_campaign_is_left_alone() -> None:
    folder = killed()
    forget(folder)
    assert take_place().fault is None


def test_what_others_may_have_put_there_is_left_alone(tmp_path: Path) -> None:
    folder = killed()
    folder.chmod(0o755)
    (tmp_path / "alula-demo-link").symlink_to(folder)
    assert take_place().fault is None
    folder.chmod(0o700)
    (folder / "fault.json").write_text("{")
    assert take_place().fault is None
