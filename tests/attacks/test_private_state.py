"""Nobody but its owner can read, change or wake anything of the state; links laid into it lead nowhere."""

import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from engine.client import Client, CommandRefused
from state.folder import make_private, state_folder
from tests.jobs.conftest import LIMIT_S, wait_until

OTHER_USER = 65534


@pytest.fixture
def busy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Client]:
    """An engine that has run a job, with files as they are made under the loosest umask."""
    monkeypatch.setenv("ALULA_HOME", str(tmp_path / "home"))
    before = os.umask(0)
    client = Client(state_folder())
    try:
        client.ensure_engine()
        done = client.ask("jobs.launch", {"argv": ["sh", "-c", "echo hello; exit 3"]}, timeout_s=LIMIT_S)
        wait_until(lambda: (Path(done["run_folder"]) / "exit.json").exists(), "the job to end")
        subprocess.run([sys.executable, "-m", "console", "db", "backup"], check=True, capture_output=True)
    finally:
        os.umask(before)
    yield client
    with suppress(Exception):
        client.ask("engine.stop", {}, timeout_s=LIMIT_S)


def test_no_file_can_be_read_by_others(busy: Client) -> None:
    open_to_others = [
        f"{path} {stat.S_IMODE(path.lstat().st_mode):o}"
        for path in (busy.folder.path, *busy.folder.path.rglob("*"))
        if not path.is_symlink() and path.lstat().st_mode & 0o077
    ]
    assert not open_to_others


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can act as another user")
def test_another_user_gets_nowhere(busy: Client, tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    for folder in (tmp_path.parent, tmp_path.parent.parent):
        folder.chmod(0o755)
    inside = busy.folder.path
    attempts = f"""
import os, sqlite3
def tried(what):
    try: what()
    except (OSError, sqlite3.Error): return
    print("succeeded:", what)
os.setgid({OTHER_USER}); os.setuid({OTHER_USER})
tried(lambda: os.listdir({str(inside)!r}))
tried(lambda: open({str(inside / "alula.sqlite")!r}).read())
tried(lambda: sqlite3.connect({str(inside / "alula.sqlite")!r}).execute("SELECT * FROM job"))
tried(lambda: os.open({str(inside / "engine.bell")!r}, os.O_WRONLY | os.O_NONBLOCK))
tried(lambda: os.mkdir({str(inside / "runs" / "x")!r}))
"""
    found = subprocess.run(["/usr/bin/env", "python3", "-c", attempts], capture_output=True, text=True, timeout=30)
    assert (found.stdout, found.returncode) == ("", 0), found.stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can act as another user")
def test_a_folder_or_link_of_another_user_is_not_taken(tmp_path: Path) -> None:
    own, theirs, link = tmp_path / "own", tmp_path / "theirs", tmp_path / "link"
    own.mkdir()
    theirs.mkdir()
    link.symlink_to(own)
    os.chown(theirs, OTHER_USER, OTHER_USER)
    os.chown(link, OTHER_USER, OTHER_USER, follow_symlinks=False)
    code = "from pathlib import Path; from state.folder import make_private; make_private(Path({!r}))"
    for place in (theirs, link):
        tried = subprocess.run(
            ["setpriv", "--reuid=12345", "--clear-groups", sys.executable, "-c", code.format(str(place))],
            capture_output=True, text=True, cwd=Path(__file__).parents[2],
        )  # fmt: skip
        assert tried.returncode != 0 and ("belongs to another user" in tried.stderr or "Permission" in tried.stderr)


def test_links_in_the_state_folder_are_not_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever could once write there may have left links to files of the owner's: they stay as they were."""
    precious = tmp_path / "precious"
    precious.write_text("dear")
    precious.chmod(0o600)
    home = make_private(tmp_path / "home")
    for name in ("engine.bell", "engine.lock", "engine.log"):
        (home / name).symlink_to(precious)
    monkeypatch.setenv("ALULA_HOME", str(home))
    client = Client(state_folder())
    with suppress(Exception):
        client.ensure_engine()
        client.ask("engine.stop", {}, timeout_s=LIMIT_S)
    assert precious.read_text() == "dear"


NAMES = (
    "../evil", "/tmp/evil", "a/b", "..", ".", "", "a\nb", "a\x1b[2J", "x" * 300, "a b;rm", "a\0b", "-rf", "\u202ea"
)  # fmt: skip
POINT = {"name": "p", "url": "http://127.0.0.1:9"}


def asked_with(name: str, folder: Path) -> dict[str, dict[str, object]]:
    """Every command that makes a folder for something that has a name."""
    prompts = str(folder / "prompts.jsonl")
    bench = {
        "name": name, "kind": "run", "points": [POINT], "baseline": "p", "loads": [{"concurrency": 1}], "repeats": 1,
        "prompts": {"path": prompts}, "created_at": 0.0,
    }  # fmt: skip
    return {
        "regen.start": {"inputs": [prompts], "server_url": "http://127.0.0.1:9", "model": "m", "name": name},
        "bench.start": {"plan": bench},
        "data.search": {"request": {"name": name, "scouts": [], "offline": True}},
        "jobs.launch": {"argv": ["true"], "name": name, "kind": name},
        "campaign.start": {"specification": {"name": name}},
    }


def test_no_name_leads_out_of_the_state_folder(busy: Client, tmp_path: Path) -> None:
    """The engine itself refuses such names, or makes harmless folders of them, whatever a command line let through."""
    busy.ask("jobs.pause", {"by": "test"})
    (tmp_path / "prompts.jsonl").write_text('{"prompt": "hello"}\n')
    before, made = set(tmp_path.iterdir()), []
    for name in NAMES:
        for kind, arguments in asked_with(name, tmp_path).items():
            try:
                made.append(busy.ask(kind, arguments, timeout_s=LIMIT_S).get("run_folder"))
            except CommandRefused as refused:
                assert "Traceback" not in str(refused) and "internal" not in str(refused).lower(), (kind, name)
    assert set(tmp_path.iterdir()) == before and not Path("/tmp/evil").exists()
    for kind, arguments in asked_with("good", tmp_path).items():
        if kind != "campaign.start":  # a whole specification would be needed
            made.append(busy.ask(kind, arguments, timeout_s=LIMIT_S)["run_folder"])
    for folder in filter(None, made):
        assert Path(folder).resolve().parent == busy.folder.runs_path.resolve()
        assert Path(folder).name.isprintable() and len(Path(folder).name) < 128
