# ruff: noqa: E501 - a table
"""The incident in the forms that operators keep it in: each is found, with nothing else called an error."""

from pathlib import Path

import pytest

from engine.check.collect import Collection
from engine.check.report.result import Outcome
from tests.check.models import incident_folder

TREE = "--speculative-num-steps 3 --speculative-eagle-topk 1 --speculative-num-draft-tokens 4"
REST = f"--speculative-algorithm EAGLE --speculative-draft-model-path DRAFT {TREE}"
RUN = f"python3 -m sglang.launch_server --model-path TARGET {REST}"
WORDS = REST.split()
RIGHT = RUN.replace("EAGLE", "EAGLE3")
WITH = "python3 -m sglang.launch_server --model-path TARGET --speculative-algorithm"
INSIDE = RUN.replace("TARGET", "/models/target").replace("DRAFT", "/models/draft")
SCRIPTS = {
    "sbatch with a quoted command": f'sbatch --gpus=8 --wrap="{RUN}"',
    "sbatch with a command apart": f"sbatch --gpus 8 --wrap '{RUN}'",
    "kubectl exec": f"kubectl exec -it pod-0 -c sgl -- {RUN}",
    "tmux send-keys": f"tmux send-keys -t sgl '{RUN}' C-m",
    "several wrappers": f"timeout --signal=INT 2h stdbuf -oL nice -n 5 taskset -c 0-15 {RUN}",
    "profiler": f"nsys profile -t cuda,nvtx -o out {RUN}",
    "ray job": f"ray job submit --address http://x:8265 -- {RUN}",
    "a container's mount": f"docker run --mount type=bind,source=ROOT,target=/models lmsysorg/sglang:v0.5.9 {INSIDE}",
    "its start as a condition": f"if ! {RUN}; then echo failed; fi",
    "a loop that starts it again": f"while true; do\n {RUN}\n sleep 5\ndone",
    "a loop until it ends well": f"until {RUN}; do sleep 1; done",
    "a here-string": f"bash <<< '{RUN}'",
    "a script that a script writes": f"cat > run.sh <<'EOF'\n#!/bin/bash\n{RUN}\nEOF\nbash run.sh",
    "commands for another host": f"ssh node1 <<EOF\nsource venv/bin/activate\n{RUN}\nEOF",
    "a value replaced": f"A=EAGLE-X\n{WITH} ${{A/-X/}} --speculative-draft-model-path DRAFT {TREE}",
    "a value in capitals": f"A=eagle\n{WITH} ${{A^^}} --speculative-draft-model-path DRAFT {TREE}",
    "a part of a value": f"A=XEAGLE3\n{WITH} ${{A:1:5}} --speculative-draft-model-path DRAFT {TREE}",
    "an associative array": f"declare -A A=([x]=EAGLE [y]=EAGLE3)\nK=x\n{WITH} ${{A[$K]}} --speculative-draft-model-path DRAFT {TREE}",
    "parameters set by hand": f'set -- --model-path TARGET\nset -- "$@" {REST}\nexec python3 -m sglang.launch_server "$@"',
    "a default assigned": f': ${{A:=EAGLE}}\n: "${{M:=TARGET}}"\npython3 -m sglang.launch_server --model-path $M {REST.replace("EAGLE", "$A")}',
    "a default behind a function": f"f() {{ echo $1; }}\nf x\nA=${{1:-EAGLE}}\n{WITH} $A --speculative-draft-model-path DRAFT {TREE}",
    "a default behind unset": f"A=EAGLE3\nunset A\n{WITH} ${{A:-EAGLE}} --speculative-draft-model-path DRAFT {TREE}",
    "a default that getopts may change": f"A=EAGLE\nwhile getopts a: o; do case $o in a) A=$OPTARG ;; esac; done\n{WITH} $A --speculative-draft-model-path DRAFT {TREE}",
    "a default that a parameter may change": f"A=EAGLE\nwhile [[ $# -gt 0 ]]; do case $1 in --algo) A=$2; shift 2 ;; esac; done\n{WITH} $A --speculative-draft-model-path DRAFT {TREE}",
    "a configuration file in a container's mount": "docker run -v ROOT:/models lmsysorg/sglang:v0.5.9 python3 -m sglang.launch_server --config /models/serve.yaml",
    "a function with parameters": 'serve() {\n local algo=$1 draft=$2\n shift 2\n python3 -m sglang.launch_server --model-path TARGET '
    f'--speculative-algorithm "$algo" --speculative-draft-model-path "$draft" "$@"\n}}\nserve EAGLE DRAFT {TREE}',
    "abbreviated flags": "python3 -m sglang.launch_server --model TARGET --speculative-algo EAGLE --speculative-draft-model DRAFT "
    "--speculative-num-s 3 --speculative-eagle 1 --speculative-num-d 4 --tp 2",
    "the last flag wins": f"{RIGHT} --speculative-algorithm EAGLE",
    "lower case": RUN.replace("EAGLE", "eagle"),
}  # fmt: skip
FILES = {
    "Dockerfile": "# syntax=docker/dockerfile:1\nARG TAG=x\nFROM lmsysorg/sglang:v0.5.9\nENV A=EAGLE \\\n    B=2\n"
    f"ENTRYPOINT [\"python3\", \"-m\", \"sglang.launch_server\", \"--model-path\", \"TARGET\"]\nCMD [{', '.join(repr(word) for word in REST.split())}]\n".replace("'", '"'),
    "Containerfile": f"FROM lmsysorg/sglang:v0.5.9\nENTRYPOINT exec {RUN} \\\n  # how many\n  --tp 1\n",
    "sgl.container": f"[Container]\nImage=docker.io/lmsysorg/sglang:v0.5.9\nVolume=ROOT:/models\nExec={INSIDE}\n",
    "reset.service": f"[Service]\nExecStart={RIGHT}\nExecStart=\nExecStart={RUN}\n",
    "variables.service": f"[Service]\nEnvironmentFile=ROOT/.env\nExecStart={RUN.replace('EAGLE', '${ALGO}').replace('DRAFT', '$HEAD')}\n",
    "compose.yaml": f"services:\n  a:\n    image: x\n    command: {RUN.replace('EAGLE', '${ALGO}').replace('DRAFT', '$HEAD')}\n",
    "merged.yaml": f"x-base: &base\n  image: lmsysorg/sglang:v0.5.9\n  command: {RUN}\nservices:\n  a:\n    <<: *base\n    ports: ['30000:30000']\n",
    "env.yaml": f"services:\n  a:\n    image: x\n    env_file: .env\n    command: bash -c '{RUN.replace('EAGLE', '$${ALGO}')}'\n",
    "values.yaml": "sglang:\n  command: [python3, -m, sglang.launch_server]\n  extraArgs:\n" + "".join(f"  - '{word}'\n" for word in f"--model-path TARGET {REST}".split()),
    "play.yml": f"- hosts: gpu\n  tasks:\n  - name: run\n    shell: |\n      {RUN}\n",
    "sky.yaml": f"setup: pip install sglang==0.5.9\nrun: |\n  {RUN}\n",
    "Makefile": f"run:\n\t{RUN}\n",
}  # fmt: skip


def check(text: str, name: str, root: Path) -> Outcome:
    target, draft = incident_folder(root)
    for sign, path in (("TARGET", target), ("DRAFT", draft), ("ROOT", root)):
        text = text.replace(sign, str(path))
    (root / ".env").write_text(f"# what runs\nALGO=EAGLE\nHEAD={draft}\n")
    settings = {**dict(zip(WORDS[::2], WORDS[1::2], strict=True)), "--model-path": "/models/target"}
    (root / "serve.yaml").write_text(
        "".join(f"{key[2:]}: {value}\n" for key, value in settings.items()).replace("DRAFT", "/models/draft")
    )
    (root / name).write_text(text)
    collection = Collection()
    collection.add_file(str(root / name))
    return collection.outcome()


def errors(outcome: Outcome) -> list[set[str]]:
    return [{one.rule for one in checked.findings if one.severity == "error"} for checked in outcome.checked]


@pytest.mark.parametrize("name", SCRIPTS)
def test_in_a_script(name: str, tmp_path: Path) -> None:
    assert errors(check(f"#!/bin/bash\n{SCRIPTS[name]}\n", "launch.sh", tmp_path)) == [
        {"eagle-flag-on-eagle3-draft", "fc-bypassed"}
    ]


@pytest.mark.parametrize("name", FILES)
def test_in_a_file_of_its_own_kind(name: str, tmp_path: Path) -> None:
    assert errors(check(FILES[name], name, tmp_path)) == [{"eagle-flag-on-eagle3-draft", "fc-bypassed"}]


@pytest.mark.parametrize(
    "script",
    [
        f"[ -f /nowhere ] && A=EAGLE\n{WITH} ${{A:-EAGLE3}} --speculative-draft-model-path DRAFT {TREE}",
        f"A=EAGLE3\n{WITH} ${{A/[0-9]/}} --speculative-draft-model-path DRAFT {TREE}",
        "docker run lmsysorg/sglang:v0.5.9 python3 -m sglang.launch_server --config /app/serve.yaml",
        f"find . -name x | xargs {WITH} EAGLE3",
        f"echo '{RUN}'\n{RIGHT}",
        f"cat > notes.md <<EOF\n{RUN}\nEOF\n{RIGHT}",
    ],
)
def test_what_is_not_known_or_not_run_is_no_error(script: str, tmp_path: Path) -> None:
    assert errors(check(f"#!/bin/bash\n{script}\n", "launch.sh", tmp_path)) == [set()]
