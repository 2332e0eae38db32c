"""Launches in shell scripts, in the forms operators write them."""

import os
import shlex
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.check.errors import SourceUnreadable
from engine.check.records import Launch
from engine.check.sources.reading import find_servers, read_source

RUN = "python3 -m sglang.launch_server --model-path /m"


def launches(script: str, tmp_path: Path | None = None) -> tuple[Launch, ...]:
    path = tmp_path / "launch.sh" if tmp_path is not None else None
    return find_servers(script, str(path or "launch.sh"), path).launches


def only(script: str, tmp_path: Path | None = None) -> Launch:
    (launch,) = launches(script, tmp_path)
    return launch


def words(script: str) -> list[str]:
    return [argument.text for argument in only(script).arguments]


@pytest.mark.parametrize(
    "command",
    [
        RUN,
        "python -m sglang.launch_server --model-path /m",
        "/opt/venv/bin/python3.12 -u -m sglang.launch_server --model-path /m",
        "sglang serve --model-path /m",
        "sglang serve /m",
        "sglang serve --model-type llm --model-path /m",
        f"exec {RUN}",
        f"nohup {RUN} > log 2>&1 &",
        f"time {RUN} | tee log",
        f"CUDA_VISIBLE_DEVICES=0 {RUN}",
        f"env A=b {RUN}",
        f"numactl --cpunodebind=0 {RUN}",
        f"srun --nodes=1 {RUN}",
        "torchrun --nproc_per_node 1 -m sglang.launch_server --model-path /m",
        f"uv run {RUN}",
        f"conda run -n sgl {RUN}",
        f"docker run --gpus all lmsysorg/sglang:latest {RUN}",
        f"podman run --rm image {RUN}",
        f"docker run image bash -c '{RUN}'",
        f'bash -lc "source env.sh && {RUN}"',
        f"ssh host '{RUN}'",
        f"if true; then {RUN}; fi",
        f"mkdir -p x && {RUN}",
        f"( cd /x; {RUN} )",
        f"run() {{ {RUN}; }}\nrun",
        f"run() {{ {RUN}; }}",
        f'CMD="{RUN}"\n$CMD',
        f'CMD="{RUN}"\neval "$CMD"',
        f"bash <<'EOF'\n{RUN}\nEOF",
        "python3 -m sglang.launch_server \\\n  --model-path \\\n  /m",
        "python3 -m sglang.launch_server --model-path '/'\"m\"",
        "P=python3\n$P -m sglang.launch_server --model-path ${MODEL:-/m}",
    ],
)
def test_finds_the_server_in_every_wrapping(command: str) -> None:
    assert words(f"#!/bin/bash\n{command}\n") == ["--model-path", "/m"]


@pytest.mark.parametrize(
    "command",
    [
        f"echo '{RUN}'",
        "pkill -f sglang.launch_server",
        f"# {RUN}",
        "python -m sglang.bench_offline_throughput --model /m",
        "ls",
    ],
)
def test_what_only_mentions_a_server_is_no_launch(command: str) -> None:
    with pytest.raises(SourceUnreadable, match="no server start found"):
        launches(command)


def test_resolves_variables_arrays_and_arithmetic() -> None:
    script = """
MODEL=/models/target
export STEPS=3
ARGS=(--speculative-num-steps "$STEPS" --served-model-name 'a b')
ARGS+=(--speculative-num-draft-tokens $((STEPS + 1)))
python3 -m sglang.launch_server --model-path "${MODEL%/target}/draft" "${ARGS[@]}" --tag=${MODEL##*/}
"""
    assert words(script) == [
        *("--model-path", "/models/draft", "--speculative-num-steps", "3", "--served-model-name", "a b"),
        *("--speculative-num-draft-tokens", "4", "--tag=target"),
    ]


def test_a_comment_within_a_continued_command_ends_it() -> None:
    launch = only(f"{RUN} \\\n  # --speculative-num-steps 3 \\\n  --speculative-algorithm EAGLE3\n")
    assert [argument.text for argument in launch.arguments] == ["--model-path", "/m"]
    assert [argument.text for argument in launch.detached] == ["--speculative-algorithm"]


def test_names_variables_that_nobody_set() -> None:
    launch = only(f'{RUN} --port "$PORT" "$@"')
    assert launch.unresolved == ("PORT", "@")
    assert launch.arguments[3].unresolved == ("PORT",)


def test_takes_the_branch_that_is_known_and_doubts_the_other() -> None:
    known = 'MODE=spec\nif [ "$MODE" = spec ]; then A="--tp 2"; else A="--tp 4"; fi\n' + RUN + " $A"
    assert words(known)[-2:] == ["--tp", "2"]
    unknown = 'if [ "$1" = spec ]; then A="--tp 2"; else A="--tp 4"; fi\n' + RUN + " $A"
    assert only(unknown).unresolved == ("A",)
    assert words("case eagle in eagle) T=1;; *) T=2;; esac\n" + RUN + " --tp $T")[-1] == "1"


def test_an_array_that_may_be_extended_keeps_what_is_sure() -> None:
    script = f'A=(--tp 2)\n[ -n "${{DRAFT:-}}" ] && A+=(--speculative-draft-model-path "$DRAFT")\n{RUN} "${{A[@]}}"\n'
    launch = only(script)
    assert [argument.text for argument in launch.arguments[2:]] == ["--tp", "2", "${A[@]}"]
    assert launch.unresolved == ("A",)


def test_an_empty_default_is_a_value_that_may_come_from_outside() -> None:
    launch = only(f'{RUN} ${{EXTRA:-}} --port "${{PORT:-}}" --tp ${{TP:-2}}')
    assert [argument.text for argument in launch.arguments[2:]] == ["--port", "", "--tp", "2"]
    assert launch.arguments[3].unresolved == ("PORT",)


def test_finds_several_servers_in_one_script() -> None:
    found = launches(f"for p in 30000 30001; do {RUN} --port $p & done\nrun() {{ {RUN} --port $1; }}\nrun 5\nrun 6\n")
    assert [launch.arguments[-1].text for launch in found] == ["30000", "30001", "5", "6"]


def test_keeps_environment_apart_from_the_shell_and_the_container() -> None:
    script = f"export SGLANG_A=1\nSGLANG_B=2 {RUN}\ndocker run -e SGLANG_C=3 -e SGLANG_A image {RUN}\n"
    bare, contained = launches(script)
    assert bare.environment == {"SGLANG_A": "1", "SGLANG_B": "2"}
    assert contained.environment == {"SGLANG_A": "1", "SGLANG_C": "3"}


def test_reads_mounts_and_the_release_of_the_image() -> None:
    launch = only(f"docker run -v /data/models:/models:ro lmsysorg/sglang:v0.5.9-cu126 {RUN}")
    assert launch.mounts == (("/models", "/data/models"),)
    assert launch.release_hint == "0.5.9"
    assert only(f"pip install 'sglang[all]==0.5.14'\n{RUN}").release_hint == "0.5.14"


def test_other_runtimes_keep_the_environment_and_have_their_own_mounts() -> None:
    apart = f"apptainer exec -B /d:/m x.sif {RUN}\nsrun --container-mounts=/a:/b,/c:/d:ro {RUN}\nssh h '{RUN}'"
    script = f"export SGLANG_A=1\n{apart}"
    bound, mounted, remote = launches(script)
    assert (bound.environment, bound.mounts) == ({"SGLANG_A": "1"}, (("/m", "/d"),))
    assert mounted.mounts == (("/b", "/a"), ("/d", "/c"))
    assert remote.environment == {}


def test_assignments_on_a_line_of_their_own_are_not_a_prefix() -> None:
    launch = only(f"A=/m B=2\n{RUN} --served-model-name $A --tp $B")
    assert [argument.text for argument in launch.arguments[2:]] == ["--served-model-name", "/m", "--tp", "2"]
    assert launch.environment == {}


def test_every_word_knows_where_it_stands() -> None:
    script = "ARGS=(\n  --tp 2\n)\n" + RUN + ' --name "x y" "${ARGS[@]}"\n'
    lines = script.splitlines()
    for argument in only(script).arguments:
        place = argument.place
        assert place.line is not None and place.column is not None and place.end_column is not None
        assert lines[place.line - 1][place.column - 1 : place.end_column - 1] == argument.text
    umlaut = only("# Größe\nÄ=ü\n" + RUN + " --name ä")
    assert (umlaut.arguments[-1].place.line, umlaut.arguments[-1].place.column) == (3, len(RUN) + 9)


def test_follows_a_sourced_file(tmp_path: Path) -> None:
    (tmp_path / "env.sh").write_text("MODEL=/m\nexport SGLANG_A=1\n")
    launch = only("source ./env.sh\npython3 -m sglang.launch_server --model-path $MODEL", tmp_path)
    assert launch.arguments[1].text == "/m"
    assert launch.environment == {"SGLANG_A": "1"}


def test_reads_vllm(tmp_path: Path) -> None:
    launch = only("""vllm serve /m --speculative-config '{"method": "eagle3", "model": "/d"}'""")
    assert launch.framework == "vllm"
    assert only("python -m vllm.entrypoints.openai.api_server --model /m").framework == "vllm"
    assert only("docker run vllm/vllm-openai:latest --model /m").framework == "vllm"


@settings(max_examples=200, deadline=None)
@given(st.lists(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0\r"), max_size=12), max_size=6))
def test_quoted_words_read_back_as_they_were(given_words: list[str]) -> None:
    launch = only("python3 -m sglang.launch_server " + shlex.join(["--model-path", "/m", *given_words]))
    assert [argument.text for argument in launch.arguments[2:]] == given_words
    assert not launch.unresolved


SHELL_PIECES = st.sampled_from(
    [
        *("A=1", "A=$A$A$A", 'B=("${B[@]}" "${B[@]}" x)', "$A", '"$@"', "${A:-", "$((A+", "'", '"', "\\\n", "\n", ";"),
        *("if", "then", "fi", "for i in a b; do", "done", "f() { f; f; }", "f", "case $A in", "esac", "<<EOF", "EOF"),
        *("|", "&&", "||", "(", ")", "{", "}", "eval $A", "source x", RUN, "--tp", "# c", "`", "$(", "\x00", "ü", "&"),
    ]
)


@settings(max_examples=150, deadline=None)
@given(st.lists(SHELL_PIECES, max_size=40), st.sampled_from([" ", "\n"]))
def test_no_script_breaks_the_reader(pieces: list[str], between: str) -> None:
    try:
        found = find_servers(between.join(pieces) + "\n" + RUN, "fuzz.sh", None)
    except SourceUnreadable:
        return
    assert all(launch.framework == "sglang" for launch in found.launches)


def test_a_variable_that_doubles_for_ever_stays_small() -> None:
    launch = only("A=aaaaaaaa\n" + "A=$A$A\n" * 60 + RUN + " --name $A")
    assert launch.unresolved


def test_a_function_that_calls_itself_ends() -> None:
    assert words("f() { f; f; }\nf\n" + RUN) == ["--model-path", "/m"]


def test_a_script_of_too_many_commands_is_refused() -> None:
    with pytest.raises(SourceUnreadable, match="more than"):
        launches("f() { :; :; :; :; :; :; :; :; }\n" + "f\n" * 5000 + RUN)


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (b"\x7fELF\x02\x01\x01\x00\x00", "binary file"),
        (b"#!/bin/sh\n\xff\xfe\n", "not UTF-8"),
        (b"echo hello\n", "no server start"),
        (b"", "no server start"),
    ],
)
def test_a_file_that_is_no_launch_is_told_with_its_place(tmp_path: Path, content: bytes, what: str) -> None:
    path = tmp_path / "x.sh"
    path.write_bytes(content)
    with pytest.raises(SourceUnreadable, match=what) as caught:
        read_source(str(path))
    assert str(path) in str(caught.value)


def test_a_huge_script_a_folder_a_pipe_and_a_loop_of_links_are_refused_at_once(tmp_path: Path) -> None:
    huge = tmp_path / "huge.sh"
    with huge.open("wb") as file:
        file.truncate(200 * 1024 * 1024)
    (tmp_path / "a").symlink_to(tmp_path / "b")
    (tmp_path / "b").symlink_to(tmp_path / "a")
    os.mkfifo(tmp_path / "pipe")
    for name in ("huge.sh", "a", "pipe", ".", "missing.sh"):
        with pytest.raises(SourceUnreadable):
            read_source(str(tmp_path / name))
