"""Which kind of file system a path lies on. SQLite's write-ahead log is unsafe where several hosts share the files."""

import re
from pathlib import Path

NETWORK_TYPES = frozenset(
    {"9p", "afs", "beegfs", "ceph", "cifs", "coda", "gfs2", "glusterfs", "gpfs", "lustre", "ncpfs", "nfs", "nfs4"}
    | {"ocfs2", "orangefs", "panfs", "pvfs2", "smb3", "smbfs", "virtiofs", "wekafs"}
)
"""As /proc/self/mountinfo names them (filesystems known to the Linux kernel, and the common cluster ones)."""

LOCAL_FUSE_TYPES = frozenset({"fuseblk", "fuse.fuse-overlayfs", "fuse.ntfs-3g", "fuse.exfat", "fuse.ext4"})


def file_system_type(path: Path, mountinfo: str | None = None) -> str | None:
    """Type of the file system that holds `path` (which need not exist yet), for example `ext4` or `nfs4`.

    Args:
        path: An absolute path.
        mountinfo: Text in the form of /proc/self/mountinfo; read from there where not given. `None` is returned where
            the system has no such file.
    """
    if mountinfo is None:
        try:
            mountinfo = Path("/proc/self/mountinfo").read_text(errors="replace")
        except OSError:
            return None
    resolved = path.resolve()
    best: tuple[int, str] | None = None
    for line in mountinfo.splitlines():
        mount, kind = _mount(line)
        if mount is not None and resolved.is_relative_to(mount) and (best is None or len(mount.parts) >= best[0]):
            best = (len(mount.parts), kind)  # of two mounts on one place, the later one is on top
    return best[1] if best else None


def is_network(kind: str | None) -> bool:
    """Whether a file system of this type may be shared by several hosts. An unknown FUSE type counts as shared."""
    if kind is None:
        return False
    return kind in NETWORK_TYPES or (kind.startswith("fuse") and kind not in LOCAL_FUSE_TYPES)


def _mount(line: str) -> tuple[Path | None, str]:
    before, _, after = line.partition(" - ")
    fields, kinds = before.split(), after.split()
    if len(fields) < 5 or not kinds:
        return None, ""
    unescaped = re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), fields[4])
    return Path(unescaped), kinds[0]
