"""Where the state lies, and that nobody else gets at it."""

import os
import stat
from pathlib import Path

import pytest

import state.folder
from state.errors import StateError
from state.file_systems import file_system_type, is_network
from state.folder import make_private, state_folder

MOUNTINFO = """\
22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda1 rw
30 22 0:26 / /home rw - nfs4 filer:/home rw,vers=4.2
31 30 0:27 / /home/with\\040space rw - xfs /dev/vdb rw
32 22 0:28 / /scratch rw - lustre 10.0.0.1@tcp:/scratch rw
33 22 0:29 / /mnt/ssh rw - fuse.sshfs me@host:/ rw
34 22 0:30 / /mnt/stick rw - fuseblk /dev/sdb1 rw
35 22 0:31 / /over rw - ext4 /dev/vdc rw
36 35 0:32 / /over rw - beegfs beegfs_nodev rw
broken line
"""


@pytest.mark.parametrize(
    ("path", "kind", "network"),
    [
        ("/root/.local/state", "ext4", False),
        ("/home/me/.local/state/alula", "nfs4", True),
        ("/home/with space/x", "xfs", False),
        ("/homely", "ext4", False),
        ("/scratch/me", "lustre", True),
        ("/mnt/ssh", "fuse.sshfs", True),
        ("/mnt/stick/a", "fuseblk", False),
        ("/over/a", "beegfs", True),
    ],
)
def test_network_file_systems_are_known(path: str, kind: str, network: bool) -> None:
    assert file_system_type(Path(path), MOUNTINFO) == kind
    assert is_network(kind) is network


def test_this_machine_has_a_file_system_under_a_path(tmp_path: Path) -> None:
    assert file_system_type(tmp_path / "not" / "there" / "yet")


def test_the_folder_is_private_and_follows_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALULA_HOME", str(tmp_path / "a" / "b"))
    assert state_folder().path == tmp_path / "a" / "b"
    assert stat.S_IMODE((tmp_path / "a" / "b").stat().st_mode) == 0o700
    monkeypatch.delenv("ALULA_HOME")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "xdg"))
    assert state_folder().path == tmp_path / "xdg" / "alula"
    assert state_folder().notice is None


def test_a_network_home_falls_back_to_a_local_folder_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kinds = {tmp_path / "home": "nfs4", tmp_path / "other": "lustre"}
    monkeypatch.setattr(state.folder, "file_system_type", lambda path: kinds.get(path, "ext4"))
    monkeypatch.setattr(state.folder, "LOCAL_FALLBACK", tmp_path / "local")
    found = {}
    for home in kinds:
        monkeypatch.setenv("ALULA_HOME", str(home))
        first, second = state_folder(), state_folder()
        assert first == second
        assert first.path.is_relative_to(tmp_path / "local")
        assert first.notice is not None and str(home) in first.notice and str(first.path) in first.notice
        assert "\n" not in first.notice and not home.exists()
        found[home] = first.path
    assert len(set(found.values())) == 2


def test_open_rights_are_taken_away(tmp_path: Path) -> None:
    (tmp_path / "open").mkdir(mode=0o777)
    (tmp_path / "open").chmod(0o777)
    make_private(tmp_path / "open")
    assert stat.S_IMODE((tmp_path / "open").stat().st_mode) == 0o700


def test_a_file_in_the_way_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    with pytest.raises(StateError, match="not a folder"):
        make_private(tmp_path / "file")
    assert (tmp_path / "file").read_text() == "mine"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
def test_a_folder_or_link_of_another_user_is_refused(tmp_path: Path) -> None:
    foreign = tmp_path / "foreign"
    foreign.mkdir(mode=0o700)
    os.chown(foreign, 12345, 12345)
    link = tmp_path / "link"
    (tmp_path / "mine").mkdir()
    link.symlink_to(tmp_path / "mine")
    os.chown(link, 12345, 12345, follow_symlinks=False)
    for path in (foreign, link):
        with pytest.raises(StateError, match="another user"):
            make_private(path)
