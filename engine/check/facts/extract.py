"""Makes the table of model classes from published wheels: `python -m engine.check.facts.extract WHEEL...`.

For each registered class of `sglang/srt/models` it notes the first release that has it, and the first in which it has
`set_eagle3_layers_to_capture`, its own or inherited. The source is parsed, never imported.
"""

import ast
import re
import sys
import zipfile
from pathlib import Path

import msgspec

from engine.check.flags.release import version_key

DATA = Path(__file__).parent / "data" / "model_classes.json"
METHOD = "set_eagle3_layers_to_capture"


def main(wheels: list[Path]) -> None:
    """Read every wheel and write the data file anew."""
    known: dict[str, dict[str, str]] = {}
    for wheel in sorted(wheels, key=lambda path: version_key(path.name.split("-")[1])):
        release = wheel.name.split("-")[1]
        for name, captures in classes(wheel).items():
            entry = known.setdefault(name, {"since": release})
            if captures:
                entry.setdefault("eagle3_since", release)
    DATA.write_bytes(msgspec.json.format(msgspec.json.encode(known, order="sorted"), indent=1) + b"\n")
    sys.stdout.write(f"{DATA}: {len(known)} classes\n")


def classes(wheel: Path) -> dict[str, bool]:
    """Registered class names of one release, and whether each can capture layers for EAGLE-3."""
    bases: dict[str, list[str]] = {}
    captures: set[str] = set()
    registered: set[str] = set()
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            if re.fullmatch(r"sglang/srt/models/[\w/]+\.py", name):
                tree = ast.parse(archive.read(name))
                registered |= _entry_classes(tree)
                for node in ast.walk(tree):
                    if isinstance(node, ast.ClassDef):
                        bases[node.name] = [base.id for base in node.bases if isinstance(base, ast.Name)]
                        if any(isinstance(part, ast.FunctionDef) and part.name == METHOD for part in node.body):
                            captures.add(node.name)
    return {name: _inherits(name, captures, bases, set()) for name in registered}


def _entry_classes(tree: ast.Module) -> set[str]:
    found: set[str] = set()
    for node in tree.body:
        if isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id == "EntryClass" for t in node.targets):
            found |= {part.id for part in ast.walk(node.value) if isinstance(part, ast.Name)}
    return found


def _inherits(name: str, wanted: set[str], bases: dict[str, list[str]], seen: set[str]) -> bool:
    if name in wanted:
        return True
    seen.add(name)
    return any(base not in seen and _inherits(base, wanted, bases, seen) for base in bases.get(name, ()))


if __name__ == "__main__":
    main([Path(argument) for argument in sys.argv[1:]])
