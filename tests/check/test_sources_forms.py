"""Units, manifests, configuration files, logs, argument lists and processes."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.check.errors import SourceUnreadable
from engine.check.records import Launch
from engine.check.sources.argument_list import read_argv
from engine.check.sources.processes import read_process, running_servers
from engine.check.sources.reading import find_servers, read_source

UNIT = """
[Unit]
Description=server
[Service]
Environment="SGLANG_ENABLE_SPEC_V2=1" MODEL=/m
Environment=PORT=30000
EnvironmentFile=-/nonexistent
WorkingDirectory=/srv
ExecStart=-/opt/venv/bin/python -m sglang.launch_server \\
    --model-path ${MODEL} \\
    # a comment within
    --port $PORT --served-model-name "a b"
Restart=always
"""

COMPOSE = """
x-environment: &environment
  SGLANG_A: "1"
services:
  first:
    image: lmsysorg/sglang:v0.5.9
    environment: *environment
    volumes: ["/data:/models", "./local:/local"]
    command: >
      python3 -m sglang.launch_server --model-path /models/x
      --port ${PORT:-30000}
  second:
    image: vllm/vllm-openai:latest
    command: ["--model", "/m", "--speculative-config", '{"method": "eagle3"}']
  third:
    image: sglang:dev
    environment: [SGLANG_B=2]
    entrypoint: python3 -m sglang.launch_server
    command: [--model-path, /m, "--tp=$TP"]
"""

KUBERNETES = """
apiVersion: v1
kind: ConfigMap
---
apiVersion: apps/v1
kind: Deployment
spec:
  template:
    spec:
      containers:
        - name: shell
          image: lmsysorg/sglang:v0.5.16-cu129
          command: ["/bin/bash", "-c"]
          args:
            - |
              export SGLANG_X=1
              python3 -m sglang.launch_server \\
                --model-path /models/x --tp 2
          env:
            - {name: SGLANG_SIMULATE_ACC_LEN, value: "3"}
          volumeMounts: [{name: weights, mountPath: /models}]
        - name: list
          command: [sglang, serve]
          args: ["--model-path", "$(MODEL)", "--tp", "$(TP)"]
          env: [{name: MODEL, value: /q}, {name: TP, valueFrom: {fieldRef: {fieldPath: x}}}]
      volumes: [{name: weights, hostPath: {path: /host/models}}]
"""


def launches(text: str, name: str) -> tuple[Launch, ...]:
    return find_servers(text, name, Path("/work") / name).launches


def texts(launch: Launch) -> list[str]:
    return [argument.text for argument in launch.arguments]


def test_reads_a_systemd_unit() -> None:
    (launch,) = launches(UNIT, "server.service")
    assert texts(launch) == ["--model-path", "/m", "--port", "30000", "--served-model-name", "a b"]
    assert launch.environment["SGLANG_ENABLE_SPEC_V2"] == "1"
    assert launch.working_folder == "/srv"
    assert launch.program[0].text == "/opt/venv/bin/python"
    assert launch.arguments[2].place.line == 12


def test_reads_a_compose_file() -> None:
    first, second, third = launches(COMPOSE, "compose.yaml")
    assert texts(first) == ["--model-path", "/models/x", "--port", "30000"]
    assert (first.release_hint, first.environment) == ("0.5.9", {"SGLANG_A": "1"})
    assert first.mounts == (("/models", "/data"), ("/local", "/work/local"))
    assert (second.framework, texts(second)[-1]) == ("vllm", '{"method": "eagle3"}')
    assert texts(third) == ["--model-path", "/m", "--tp=$TP"]
    assert third.unresolved == ("TP",)


def test_reads_a_kubernetes_manifest() -> None:
    shell, listed = launches(KUBERNETES, "deployment.yml")
    assert texts(shell) == ["--model-path", "/models/x", "--tp", "2"]
    assert shell.environment == {"SGLANG_SIMULATE_ACC_LEN": "3", "SGLANG_X": "1"}
    assert (shell.release_hint, shell.mounts) == ("0.5.16", (("/models", "/host/models"),))
    assert KUBERNETES.splitlines()[(shell.arguments[0].place.line or 0) - 1].strip().startswith("--model-path")
    assert texts(listed) == ["--model-path", "/q", "--tp", "$(TP)"]
    assert listed.unresolved == ("TP",)


def test_finds_a_launch_in_any_other_yaml() -> None:
    (launch,) = launches(
        "jobs:\n  serve:\n    run: |\n      python -m sglang.launch_server --model-path /m\n", "ci.yml"
    )
    assert texts(launch) == ["--model-path", "/m"]


def test_reads_a_configuration_file_as_a_launch(tmp_path: Path) -> None:
    path = tmp_path / "serve.yaml"
    path.write_text("model-path: /m\nspeculative-algorithm: EAGLE3\n")
    (launch,) = read_source(str(path)).launches
    assert texts(launch) == ["--config", str(path)]


@pytest.mark.parametrize(
    "line",
    [
        "[2026-01-01 10:00:00] server_args=ServerArgs(model_path='/m', speculative_algorithm='EAGLE', hook=<f at 0x1>)",
        "[2026-01-01 10:00:00] server_args=ServerArgs(model_path='/m', speculative_algorithm='EAGLE', lora_paths=[])",
        "[2026-01-01 10:00:00] server_args={'model_path': '/m', 'speculative_algorithm': 'EAGLE'}",
    ],
)
def test_reads_a_log(line: str) -> None:
    batch = (
        "[2026-01-01 10:00:01] Decode batch. #running-req: 1, #token: 9, accept len: {}, gen throughput (token/s): 9\n"
    )
    found = find_servers(line + "\n" + batch.format("1.00") + batch.format("1.50"), "server.log", None)
    (live,) = found.logged
    information = live.server_info or {}
    assert information["speculative_algorithm"] == "EAGLE"
    assert information["internal_states"] == [{"avg_spec_accept_length": 1.25}]
    assert live.verifications == 80


def test_reads_the_end_of_a_long_log(tmp_path: Path) -> None:
    path = tmp_path / "server.log"
    with path.open("w") as file:
        file.write("[2026-01-01 10:00:00] server_args={'model_path': '/m'}\n")
        file.writelines("[2026-01-01 10:00:00] INFO: 127.0.0.1 - GET /health\n" for _ in range(120_000))
        file.write("[2026-01-01 10:00:01] Decode batch, #running-req: 1, accept len: 2.50, cuda graph: True\n")
    (live,) = read_source(str(path)).logged
    assert (live.server_info or {})["internal_states"] == [{"avg_spec_accept_length": 2.5}]


def test_reads_a_command_given_as_words() -> None:
    launch = read_argv(["sglang", "serve", "/m dir", "--tp", "2"], "command line")
    assert texts(launch) == ["--model-path", "/m dir", "--tp", "2"]
    place = launch.arguments[-1].place
    assert place.column is not None and launch.source_text[place.column - 1] == "2"
    with pytest.raises(SourceUnreadable):
        read_argv(["ls", "-l"], "command line")


@pytest.fixture
def process(tmp_path: Path) -> Iterator["subprocess.Popen[str]"]:
    """A real process whose command line is that of a server: a stand-in module that waits."""
    package = tmp_path / "sglang"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "launch_server.py").write_text("print('up', flush=True)\nimport sys\nsys.stdin.read()\n")
    command = [sys.executable, "-m", "sglang.launch_server", "--model-path", "/m", "--speculative-algorithm", "EAGLE"]
    environment = {"PYTHONPATH": str(tmp_path), "SGLANG_SIMULATE_ACC_LEN": "2", "SECRET": "x"}
    child = subprocess.Popen(
        command, cwd=tmp_path, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert child.stdout is not None and child.stdout.readline() == "up\n"
    yield child
    child.communicate()


def test_reads_a_running_process(process: "subprocess.Popen[str]", tmp_path: Path) -> None:
    launch = read_process(process.pid)
    assert texts(launch) == ["--model-path", "/m", "--speculative-algorithm", "EAGLE"]
    assert launch.environment == {"SGLANG_SIMULATE_ACC_LEN": "2"}
    assert launch.working_folder == str(tmp_path)
    assert process.pid in [server.pid for server in running_servers()]


def test_a_process_that_is_gone_or_no_server_is_told() -> None:
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    with pytest.raises(SourceUnreadable):
        read_process(child.pid)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("services: [a, b", "not valid YAML"),
        ("services: &a\n  b: *a\n", "contains itself"),
        (
            "services:\n"
            + "".join(f"  a{i}: &a{i} [{', '.join(f'*a{i - 1}' for _ in range(9))}]\n" for i in range(1, 9)),
            "YAML",
        ),
        ("services: " + "[" * 5000, "YAML"),
        ("services: " + "[" * 900 + "]" * 900, "nested deeper"),
        ("a: \x01", "YAML"),
    ],
)
def test_yaml_that_would_exhaust_a_reader_is_refused_with_its_place(text: str, what: str) -> None:
    if "*a0" in text:
        text = text.replace("services:\n", "services:\n  a0: &a0 x\n")
    with pytest.raises(SourceUnreadable, match=what) as caught:
        launches(text, "bomb.yaml")
    assert caught.value.place.source == "bomb.yaml"


YAML_PIECES = st.sampled_from(
    [
        "services:",
        "  a:",
        "    command:",
        " x",
        "- ",
        "[",
        "]",
        "{",
        "}",
        "&a",
        "*a",
        "|",
        ">",
        ":",
        "'",
        '"',
        "---",
        "!!x",
        "\t",
    ]
)


@settings(max_examples=150, deadline=None)
@given(
    st.one_of(st.text(max_size=80), st.lists(YAML_PIECES, max_size=30).map("\n".join)),
    st.sampled_from(["x.yaml", "x.service"]),
)
def test_no_manifest_or_unit_breaks_the_reader(text: str, name: str) -> None:
    body = "[Service]\nExecStart=" + text if name.endswith("service") else text
    try:
        find_servers(body, name, None)
    except SourceUnreadable as error:
        assert error.place.source == name


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=200))
def test_no_log_breaks_the_reader(text: str) -> None:
    try:
        find_servers("server_args=ServerArgs(" + text, "x.log", None)
    except SourceUnreadable as error:
        assert error.place.source == "x.log"
