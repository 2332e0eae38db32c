"""The same deployment in every form gives the same findings."""

import shlex
from collections.abc import Callable
from pathlib import Path

import pytest

from engine.check.collect import Collection
from tests.check.models import incident_folder

Form = Callable[[list[str]], tuple[str, str]]
"""From the words of a command to a file name and its text."""


def lines_of(words: list[str]) -> list[str]:
    grouped: list[list[str]] = [[]]
    for word in words:
        if word.startswith("--"):
            grouped.append([])
        grouped[-1].append(word)
    return [shlex.join(group) for group in grouped]


def variables(words: list[str]) -> tuple[str, str]:
    given = words[words.index("--speculative-algorithm") + 1]
    text = shlex.join(words).replace(f" {given} ", ' "${ALGORITHM}" ')
    return "launch.sh", f"ALGORITHM=${{1:-{given}}}\n{text}\n"


def array(words: list[str]) -> tuple[str, str]:
    program, *flags = lines_of(words)
    listed = "\n".join(f"  {flag} # told" for flag in flags)
    return "launch.sh", f'ARGS=(\n{listed}\n)\nexec {program} "${{ARGS[@]}}" 2>&1 | tee log\n'


def unit(words: list[str]) -> tuple[str, str]:
    command = " \\\n  ".join(lines_of(words))
    return "server.service", f"[Service]\nEnvironment=A=1\nExecStart=/usr/bin/{command}\n"


def compose(words: list[str]) -> tuple[str, str]:
    listed = "".join(f"      - {word!r}\n" for word in words)
    return "compose.yaml", f"services:\n  server:\n    image: x\n    command:\n{listed}"


def kubernetes(words: list[str]) -> tuple[str, str]:
    script = " \\\n".join(f"          {line}" for line in lines_of(words))
    head = "apiVersion: v1\nkind: Pod\nspec:\n  containers:\n    - name: s\n      command: [bash, -c]\n      args:\n"
    return "pod.yaml", f"{head}        - |\n{script}\n"


FORMS: dict[str, Form] = {
    "one line": lambda words: ("launch.sh", shlex.join(words) + "\n"),
    "continued lines": lambda words: ("launch.sh", " \\\n  ".join(lines_of(words)) + "\n"),
    "equals signs": lambda words: ("launch.sh", shlex.join(words).replace("algorithm ", "algorithm=") + "\n"),
    "abbreviated": lambda words: ("launch.sh", shlex.join(words).replace("-algorithm ", "-algo ") + "\n"),
    "in the background": lambda words: ("launch.sh", f"nohup {shlex.join(words)} > log 2>&1 &\n"),
    "container": lambda words: ("launch.sh", f"docker run --rm --gpus all -p 1:1 image {shlex.join(words)}\n"),
    "string for a shell": lambda words: ("launch.sh", f"srun bash -c {shlex.quote(shlex.join(words))}\n"),
    "function": lambda words: ("launch.sh", f"serve() {{\n  {shlex.join(words)} --port $1\n}}\nserve 30001\n"),
    "variables": variables,
    "array": array,
    "systemd unit": unit,
    "compose": compose,
    "kubernetes": kubernetes,
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("algorithm", ["EAGLE", "EAGLE3", "NEXTN"])
def test_every_form_gives_the_same_findings(form: str, algorithm: str, tmp_path: Path) -> None:
    target, draft = incident_folder(tmp_path)
    words = ["python3", "-m", "sglang.launch_server", "--model-path", str(target), "--speculative-algorithm", algorithm]
    words += ["--speculative-draft-model-path", str(draft), "--speculative-num-steps", "3"]
    words += ["--speculative-eagle-topk", "1", "--speculative-num-draft-tokens", "4"]
    name, text = FORMS[form](words)
    (tmp_path / name).write_text(text)
    collection = Collection("0.5.23")
    collection.add_file(str(tmp_path / name))
    collection.add_command(words)
    written, typed = collection.outcome().checked
    found = {finding.rule for finding in written.findings}
    assert found == {finding.rule for finding in typed.findings}
    assert ("eagle-flag-on-eagle3-draft" in found) == (algorithm != "EAGLE3")


def test_words_that_may_hold_any_flag_silence_only_what_depends_on_them(tmp_path: Path) -> None:
    target, draft = incident_folder(tmp_path)
    start = f"python3 -m sglang.launch_server --model-path {target} --speculative-algorithm EAGLE"
    found = []
    for text in (f'{start} "$@"', f'{start} --speculative-draft-model-path {draft} "$@"', start):
        (tmp_path / "launch.sh").write_text(text + "\n")
        collection = Collection("0.5.23")
        collection.add_file(str(tmp_path / "launch.sh"))
        found.append(
            {finding.rule for finding in collection.outcome().checked[0].findings if finding.severity == "error"}
        )
    assert found[0] == set()
    assert "eagle-flag-on-eagle3-draft" in found[1] and "fc-bypassed" in found[1]
    assert "draft-path-missing" in found[2]


@pytest.mark.parametrize("form", ["one line", "container", "compose"])
def test_a_path_that_is_not_here_is_a_fault_only_where_it_should_be_here(form: str, tmp_path: Path) -> None:
    words = ["python3", "-m", "sglang.launch_server", "--model-path", "/none/t", "--speculative-algorithm", "EAGLE3"]
    words += ["--speculative-draft-model-path", "/none/d"]
    name, text = FORMS[form](words)
    (tmp_path / name).write_text(text)
    collection = Collection("0.5.23")
    collection.add_file(str(tmp_path / name))
    (one,) = collection.outcome().checked
    found = {finding.rule for finding in one.findings}
    assert ("draft-path-not-found" in found) == (form == "one line")
    assert "input-missing" in found
