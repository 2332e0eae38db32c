"""Configuration files, releases, defaults, vLLM: from a launch to `ServerArguments`."""

from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.check.flags.reading import live_arguments, read_arguments
from engine.check.flags.release import choose_release, installed_release, version_key
from engine.check.flags.table import flag_table, releases_with, tables
from engine.check.flags.vllm import read_vllm_arguments
from engine.check.records import Argument, Launch, Place, ServerArguments, UnresolvedValue


def launch_of(*words: str) -> Launch:
    return Launch(framework="sglang", arguments=tuple(Argument(w, Place("t", 1)) for w in words), place=Place("t"))


def read(folder: Path, *words: str, release: str = "0.5.23") -> ServerArguments:
    return read_arguments(launch_of("--model-path", "m", *words), choose_release(release), [folder])


def test_the_command_line_wins_over_the_file(tmp_path: Path) -> None:
    (tmp_path / "serve.yaml").write_text(
        "speculative-algorithm: EAGLE\nspeculative-num-steps: 5\nenable-metrics: true\n"
    )
    found = read(tmp_path, "--speculative-algorithm", "EAGLE3", "--config", "serve.yaml")
    assert found.problems == ()
    algorithm, steps = found.flags["speculative_algorithm"], found.flags["speculative_num_steps"]
    assert (algorithm.value, algorithm.origin, algorithm.repeated) == ("EAGLE3", "command", ())
    assert (steps.value, steps.origin) == (5, "config")
    assert steps.place is not None and (steps.place.source, steps.place.line) == (str(tmp_path / "serve.yaml"), 2)
    assert found.get("enable_metrics") is True


@pytest.mark.parametrize("word", ["--config=serve.yaml", "--conf=serve.yaml"])
def test_a_file_after_an_equals_sign_is_never_read(tmp_path: Path, word: str) -> None:
    (tmp_path / "serve.yaml").write_text("speculative-algorithm: EAGLE3\n")
    found = read(tmp_path, word)
    assert [problem.kind for problem in found.problems] == ["config_unread"]
    assert found.get("speculative_algorithm") is None


@pytest.mark.parametrize(
    ("text", "kind", "line"),
    [
        ("speculative_num_steps: 3\n", "config_invalid", 1),
        ("port: 1\nenable_metrics: true\n", "config_invalid", 2),
        ("zz: b\nspeculative-num-steps: null\n", "unknown", 1),
        ("speculative-num-steps: null\n", "config_invalid", 1),
        ("tp-size: 2\ndisable-cuda-graph: true\n", "config_invalid", 2),
        ("- a\n", "config_invalid", 1),
        ("a: [b\n", "config_invalid", 2),
        ("a: &a [*a]\n", "config_invalid", 1),
    ],
)
def test_what_the_merge_or_the_parser_refuses_is_told_with_its_line(
    tmp_path: Path, text: str, kind: str, line: int
) -> None:
    (tmp_path / "serve.yaml").write_text(text)
    problem = read(tmp_path, "--config", "serve.yaml").problems[0]
    assert problem.kind == kind
    assert problem.place is not None and problem.place.line == line


def test_what_a_refused_key_meant_is_still_known(tmp_path: Path) -> None:
    (tmp_path / "serve.yaml").write_text("speculative_num_steps: 3\n")
    assert read(tmp_path, "--config", "serve.yaml").get("speculative_num_steps") == 3


def in_container(*mounts: tuple[str, str]) -> ServerArguments:
    launch = msgspec.structs.replace(launch_of("--config", "/c/serve.yaml"), elsewhere=True, mounts=mounts)
    return read_arguments(launch, choose_release("0.5.23"))


def test_a_file_in_a_container_is_read_through_its_mount(tmp_path: Path) -> None:
    (tmp_path / "serve.yaml").write_text("model-path: /m\n")
    found = in_container(("/c", str(tmp_path)))
    assert (found.get("model_path"), found.problems) == ("/m", ())


def test_a_file_in_a_container_without_mount_may_hold_any_flag() -> None:
    found = in_container()
    assert [problem.kind for problem in found.problems] == ["config_elsewhere"]
    with pytest.raises(UnresolvedValue):
        found.get("speculative_algorithm")


def test_a_missing_or_second_configuration_file_is_told(tmp_path: Path) -> None:
    (tmp_path / "x.txt").touch()
    for words in (
        ["--config", "none.yaml"],
        ["--config"],
        ["--config", "x.txt"],
        ["--config", "a.yaml", "--config", "b"],
    ):
        assert [problem.kind for problem in read(tmp_path, *words).problems] == ["config_invalid"]


def test_lists_objects_and_switches_become_words_as_sglang_makes_them(tmp_path: Path) -> None:
    (tmp_path / "serve.yaml").write_text(
        "cuda-graph-bs-decode: [1, 2]\ntrust-remote-code: false\nspeculative-algo: EAGLE3\nmm-process-config: {a: 1}\n"
    )
    found = read(tmp_path, "--config", "serve.yaml")
    assert found.problems == ()
    assert found.get("cuda_graph_bs_decode") == [1, 2]
    assert found.get("speculative_algorithm") == "EAGLE3"
    assert found.get("trust_remote_code") is False
    assert found.get("mm_process_config") == {"a": 1}


def test_a_release_before_configuration_files_refuses_them(tmp_path: Path) -> None:
    assert [p.kind for p in read(tmp_path, "--config", "a.yaml", release="0.5.2").problems] == ["unknown"]


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=120))
def test_no_configuration_file_breaks_the_reader(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    folder = tmp_path_factory.getbasetemp()
    (folder / "fuzz.yaml").write_text(text, encoding="utf-8", errors="replace")
    read(folder, "--config", "fuzz.yaml")


@pytest.mark.parametrize(
    ("named", "release", "known", "named_release"),
    [
        (("0.5.9",), "0.5.9", True, None),
        (("v0.5.9-cu126",), "0.5.9", True, None),
        ((None, "0.5.4.post3"), "0.5.4.post3", True, None),
        (("0.5.99",), "0.5.23", True, "0.5.99"),
        (("0.5.4.post2",), "0.5.4", True, "0.5.4.post2"),
        (("0.1.0",), "0.4.6", True, "0.1.0"),
        ((None,), "0.5.23", False, None),
        (("latest",), "0.5.23", False, None),
    ],
)
def test_chooses_the_release(
    named: tuple[str | None, ...], release: str, known: bool, named_release: str | None
) -> None:
    found = choose_release(*named)
    assert (found.name, found.known, found.named) == (release, known, named_release)


def test_finds_the_installed_release_beside_an_interpreter(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/python").touch()
    (tmp_path / "lib/python3.12/site-packages/sglang-0.5.16.dist-info").mkdir(parents=True)
    assert installed_release(str(tmp_path / "bin/python")) == "0.5.16"
    assert installed_release("python3") is None


def test_orders_releases() -> None:
    releases = ["0.4.6", "0.4.6.post5", "0.5.4", "0.5.4.post3", "0.5.10", "0.5.20rc1", "0.5.20"]
    assert sorted(releases, key=version_key) == releases
    assert sorted(tables().releases, key=version_key) == list(tables().releases)


def test_the_tables_hold_the_boundaries_of_the_flags() -> None:
    assert flag_table("0.5.2").spellings["--speculative-algorithm"].choices == (
        "EAGLE",
        "EAGLE3",
        "NEXTN",
        "STANDALONE",
    )
    assert flag_table("0.5.12").spellings["--speculative-algorithm"].choices is None
    assert (
        releases_with("--speculative-draft-model")[0] == "0.5.2"
        or releases_with("--speculative-draft-model")[0] > "0.4.9"
    )
    assert releases_with("--cuda-graph-max-bs")[-1] == "0.5.19"
    assert releases_with("--config")[0] == "0.5.3"
    assert flag_table("0.5.23").spellings["--enable-dp-attention"].successor == "--attn-dp-size <dp-size>"
    assert "unquant" in (flag_table("0.5.23").spellings["--speculative-draft-model-quantization"].choices or ())
    assert all(flag_table(release).spellings["--model-path"].required for release in tables().releases)


def test_live_settings_that_equal_the_default_count_as_not_given() -> None:
    found = live_arguments(
        {"model_path": "/m", "tp_size": 1, "speculative_num_steps": 3, "x": 1}, choose_release("0.5.17"), "u"
    )
    assert found.given("tp_size") is None
    assert found.flags["speculative_num_steps"].origin == "live"
    assert "x" not in found.flags


def test_reads_vllm_settings_in_all_three_spellings() -> None:
    def config(*words: str) -> object:
        return read_vllm_arguments(launch_of(*words).arguments).get("speculative_config")

    assert config("/m", "--speculative-config", '{"method": "eagle3"}') == {"method": "eagle3"}
    assert config("--speculative-config={}") == {}
    assert config("--speculative-config.method", "eagle3", "--speculative-config.model=/d") == {
        "method": "eagle3",
        "model": "/d",
    }
    broken = read_vllm_arguments(launch_of("--speculative-config", "{method: x").arguments)
    assert [problem.kind for problem in broken.problems] == ["invalid"]
