"""The corrected command: applied with `patch`, it reads back with the change and nothing else."""

import subprocess
from pathlib import Path

import pytest

from engine.check.records import Finding
from engine.check.report.fix_diff import fix_diffs
from engine.check.sources.argument_list import read_argv
from engine.check.sources.reading import read_source
from tests.check.examples import COMMAND, advice, checked, incident, launch_in

RUN = "python3 -m sglang.launch_server --model-path /m"


def patched(script: str, path: Path, *findings: Finding) -> str:
    """The script after `patch` applied the diff."""
    diff = fix_diffs([checked(launch_in(script, path), *findings)])
    subprocess.run(["patch", "-p0", "-s", "-d", "/"], input=diff, text=True, check=True)
    return path.read_text()


@pytest.mark.parametrize(
    ("script", "finding", "expected"),
    [
        (
            f"{RUN} --speculative-algorithm EAGLE\n",
            {"--speculative-algorithm": "EAGLE3"},
            f"{RUN} --speculative-algorithm EAGLE3\n",
        ),
        (
            f"{RUN} --speculative-algo=EAGLE\n",
            {"--speculative-algorithm": "EAGLE3"},
            f"{RUN} --speculative-algo EAGLE3\n",
        ),
        (f"{RUN} --tp '2' --port 1", {"--tp-size": "4"}, f"{RUN} --tp 4 --port 1"),
        (f"{RUN} \\\n  --port 1 # c\n", {"--dtype": "bfloat16"}, f"{RUN} \\\n  --port 1 --dtype bfloat16 # c\n"),
        (f'A=(--tp 2)\n{RUN} "${{A[@]}}"\n', {"--tp-size": "4"}, f'A=(--tp 4)\n{RUN} "${{A[@]}}"\n'),
        (f"bash -c '{RUN} --tp 2'\n", {"--tp-size": "4"}, f"bash -c '{RUN} --tp 4'\n"),
    ],
)
def test_sets_a_flag_where_it_stands(
    tmp_path: Path, script: str, finding: dict[str, str | None], expected: str
) -> None:
    assert patched(script, tmp_path / "launch.sh", advice(finding)) == expected


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        (f"{RUN} --disable-cuda-graph --port 1\n", f"{RUN} --port 1\n"),
        (f"{RUN} --port 1 --disable-cuda-graph\n", f"{RUN} --port 1\n"),
        (f"{RUN} \\\n  --disable-cuda-graph \\\n  --port 1\n", f"{RUN} \\\n  --port 1\n"),
    ],
)
def test_drops_a_flag(tmp_path: Path, script: str, expected: str) -> None:
    assert patched(script, tmp_path / "launch.sh", advice({}, "--disable-cuda-graph")) == expected


def test_several_findings_make_one_diff_and_the_gravest_wins(tmp_path: Path) -> None:
    path = tmp_path / "launch.sh"
    launch = launch_in(COMMAND, path)
    other = advice({"--speculative-algorithm": "NGRAM", "--dtype": "bfloat16"}, "--disable-cuda-graph")
    after = patched(COMMAND, path, incident(launch), other)
    assert after == COMMAND.replace("EAGLE ", "EAGLE3 ").replace(" --disable-cuda-graph", " --dtype bfloat16")


def test_a_value_from_elsewhere_is_shown_as_a_whole_command(tmp_path: Path) -> None:
    launch = launch_in(f"ALGORITHM=EAGLE\n{RUN} --speculative-algorithm=$ALGORITHM\n", tmp_path / "launch.sh")
    diff = fix_diffs([checked(launch, incident(launch))])
    assert "-  --speculative-algorithm=EAGLE\n" in diff
    assert "+  --speculative-algorithm EAGLE3\n" in diff


def test_a_command_from_the_command_line_gets_a_diff_too() -> None:
    launch = read_argv(["sglang", "serve", "/m", "--speculative-algorithm", "EAGLE"], "command line")
    diff = fix_diffs([checked(launch, incident(launch), advice({}, environment={"SGLANG_A": "1"}))])
    assert "+  --speculative-algorithm EAGLE3" in diff and "+SGLANG_A=1 \\\n" in diff


def test_a_file_below_the_working_folder_is_named_from_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "run" / "launch.sh"
    path.parent.mkdir()
    monkeypatch.chdir(tmp_path)
    launch = launch_in(COMMAND, path)
    diff = fix_diffs([checked(launch, incident(launch))])
    assert diff.startswith("--- run/launch.sh\n+++ run/launch.sh\n")
    subprocess.run(["patch", "-p0", "-s"], input=diff, text=True, check=True)
    assert "EAGLE3" in path.read_text()


def test_nothing_to_change_gives_no_diff() -> None:
    assert fix_diffs([checked(launch_in(COMMAND))]) == ""


def test_the_diff_never_changes_another_server(tmp_path: Path) -> None:
    path = tmp_path / "two.sh"
    script = f"{RUN} --speculative-algorithm EAGLE --port 1\n{RUN} --speculative-algorithm EAGLE --port 2\n"
    path.write_text(script)
    second = read_source(str(path)).launches[1]
    diff = fix_diffs([checked(second, incident(second))])
    subprocess.run(["patch", "-p0", "-s", "-d", "/"], input=diff, text=True, check=True)
    assert path.read_text().splitlines()[0] == script.splitlines()[0]
    assert "EAGLE3 --port 2" in path.read_text()


def test_launches_that_share_words_make_one_diff(tmp_path: Path) -> None:
    path = tmp_path / "loop.sh"
    path.write_text(f"for p in 1 2; do {RUN} --port $p --speculative-algorithm EAGLE & done\n")
    both = [checked(launch, incident(launch)) for launch in read_source(str(path)).launches]
    subprocess.run(["patch", "-p0", "-s", "-d", "/"], input=fix_diffs(both), text=True, check=True)
    assert path.read_text() == f"for p in 1 2; do {RUN} --port $p --speculative-algorithm EAGLE3 & done\n"
