"""Flags out of the source of a wheel, in both forms that releases use; the source is never imported."""

import zipfile
from pathlib import Path

from engine.check.flags.extract import extract, lines_of, merge
from engine.check.flags.table import Flag

SERVER_ARGUMENTS = """
raise RuntimeError("this module must not be run")
import argparse
from sglang.srt.choices import FORMATS, names

NAMES = ["a", *FORMATS]

class Deprecated(argparse.Action):
    pass

class DeprecatedAction(argparse.Action):
    def __call__(self, parser, namespace, values, option_string=None):
        raise ValueError(self.help)

class ServerArgs:
    port: int = 30000
    load_format: A[Optional[str], Arg(help="x", choices=FORMATS, aliases=["--format"])] = None
    tp_size: A[int, Arg(help="x", cli_name="--tensor-parallel-size")] = 1
    sizes: A[Optional[List[int]], "help"] = None
    quiet: A[bool, "help"] = False
    mode: A[Literal["x", "y"], "help"] = "x"
    hidden: A[bool, Arg(no_cli=True)] = False
    model_path: A[str, "help"]

    def add_cli_args(parser):
        chosen = list(names())
        parser.add_argument("--port", "-p", type=int, default=ServerArgs.port)
        parser.add_argument("--names", nargs="*", choices=NAMES)
        parser.add_argument("--chosen", choices=["auto"] + chosen)
        parser.add_argument("--run-time", choices=something_else(1))
        parser.add_argument("--maybe", action=argparse.BooleanOptionalAction)
        parser.add_argument("--gone", action=DeprecatedAction)
        parser.add_argument("--old", action=DeprecatedStoreTrueAction, dest="quiet", new_flag="--quiet")
"""
CHOICES = """
FORMATS = ["safetensors", "dummy"]
class Registry:
    table = {"one": 1, "two": 2}
def names():
    return Registry.table.keys()
"""


def wheel(folder: Path, release: str, source: str) -> Path:
    path = folder / f"sglang-{release}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("sglang/srt/server_args.py", source)
        archive.writestr("sglang/srt/choices.py", CHOICES)
    return path


def by_option(flags: list[Flag]) -> dict[str, Flag]:
    return {option: flag for flag in flags for option in flag.options}


def test_reads_both_forms_without_running_them(tmp_path: Path) -> None:
    found = by_option(extract(wheel(tmp_path, "0.5.9", SERVER_ARGUMENTS)))
    assert found["--format"].choices == ("safetensors", "dummy") and found["--format"].dest == "load_format"
    assert (found["--tensor-parallel-size"].dest, found["--tensor-parallel-size"].type) == ("tp_size", "int")
    assert (found["--sizes"].nargs, found["--sizes"].type) == ("+", "int")
    assert found["--quiet"].action == "store_true" and found["--mode"].choices == ("x", "y")
    assert "--hidden" not in found and found["--model-path"].required
    assert (found["-p"].dest, found["-p"].default) == ("port", 30000)
    assert (found["--names"].choices, found["--names"].nargs) == (("a", "safetensors", "dummy"), "*")
    assert found["--chosen"].choices == ("auto", "one", "two")
    assert found["--run-time"].choices is None
    assert found["--maybe"].action == "boolean_optional" and found["--gone"].action == "removed"
    assert (found["--old"].dest, found["--old"].action, found["--old"].successor) == ("quiet", "store_true", "--quiet")


def test_a_form_that_several_releases_share_stands_once(tmp_path: Path) -> None:
    changed = SERVER_ARGUMENTS.replace("= 30000", "= 40000")
    found = {
        release: extract(wheel(tmp_path, release, source))
        for release, source in (("0.5.10", changed), ("0.5.9", SERVER_ARGUMENTS), ("0.5.9.post1", SERVER_ARGUMENTS))
    }
    tables = merge(found)
    assert tables.releases == ("0.5.9", "0.5.9.post1", "0.5.10")
    assert [flag.runs for flag in tables.flags if flag.dest == "port"] == [((0, 1),), ((2, 2),)]
    assert [flag.runs for flag in tables.flags if flag.dest == "mode"] == [((0, 2),)]
    assert lines_of(tables).count(b"\n") == len(tables.flags) + 2
