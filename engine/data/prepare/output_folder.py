"""The folder that a preparation writes: begun, gone on with, or thrown away and begun anew."""

import hashlib
import shutil
from pathlib import Path

import msgspec

from engine.data.plan.records import Plan, PlanError
from engine.data.prepare.manifest import MANIFEST, Manifest
from engine.data.prepare.run import WORK
from engine.data.prepare.work import Work

OUTPUTS = ("data-*-of-*", "native-*-of-*", MANIFEST, "plan.toml")


def begin_output(output: Path, plan: Plan, plan_text: str, *, restart: bool) -> Manifest | None:
    """Make the work folder, or hold it against the plan. Gives the manifest where all is done already.

    Raises:
        PlanError: The folder holds the work of another plan.
        OSError: It cannot be written.
    """
    work = Work(output / WORK)
    if restart:
        if work.folder.exists():
            with work.locked():
                shutil.rmtree(work.folder)
        for pattern in OUTPUTS:
            for path in output.glob(pattern):
                path.unlink()
    if (output / MANIFEST).exists():
        return _finished(output, plan)
    if not work.folder.exists() and any(output.glob("data-*-of-*")):
        raise PlanError(
            f"{output} holds shards of something else", "give another --output, or --restart to remove them"
        )
    work.begin(plan)
    (output / "plan.toml").write_text(plan_text, encoding="utf-8")
    return None


def _finished(output: Path, plan: Plan) -> Manifest:
    try:
        manifest = msgspec.json.decode((output / MANIFEST).read_bytes(), type=Manifest)
    except (msgspec.DecodeError, RecursionError) as error:
        raise PlanError(f"{output / MANIFEST} cannot be read: {error}", "give --restart to make it anew") from error
    if manifest.plan_sha256 != hashlib.sha256(msgspec.json.encode(plan)).hexdigest():
        raise PlanError(f"{output} holds the data of another plan", "give another --output, or --restart")
    return manifest
