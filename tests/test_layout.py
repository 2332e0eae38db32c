"""The shape of the code: short modules, short functions, layers that hold at run time."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SOURCES = [path for folder in ("console", "engine", "widgets", "state") for path in (ROOT / folder).rglob("*.py")]


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_modules_and_functions_stay_short(path: Path) -> None:
    text = path.read_text()
    assert text.count("\n") <= 300, "a module holds one idea: split it"
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            length = (node.end_lineno or node.lineno) - node.lineno + 1
            assert length <= 60, f"{node.name} has {length} lines: split it"


@pytest.mark.parametrize("package", ["engine", "state"])
def test_works_without_a_screen(package: str) -> None:
    modules = [
        ".".join(path.relative_to(ROOT).with_suffix("").parts)
        for path in SOURCES
        if path.relative_to(ROOT).parts[0] == package and path.name not in ("__main__.py", "__init__.py")
    ]
    modules = [module for module in modules if ".training" not in module and "train" not in module.split(".")]
    code = f"import sys\nfor m in {modules!r}: __import__(m)\nprint('textual' in sys.modules, 'torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "False False", done.stderr
