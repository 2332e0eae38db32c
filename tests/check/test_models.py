"""Models are read from any files at all: damage becomes a problem that says what and where, never an exception."""

import json
import pickle
import struct
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine.check.models import read_model
from engine.check.records import Model
from engine.check.rules import findings
from tests.check.pairs import deployment, eagle3_tensors, model
from tests.check.test_rules import DRAFT_CONFIG, SOUND, TARGET

SAME_FOLDER = settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
KEYS = sorted(
    {
        *TARGET,
        *DRAFT_CONFIG,
        "target_hidden_size",
        "num_aux_hidden_states",
        "rope_scaling",
        "rope_parameters",
        "head_dim",
    }
    | {"text_config", "quantization_config", "fc_norm", "norm_output", "eagle_aux_hidden_state_layer_ids", "num_loops"}
    | {
        "q_lora_rank",
        "bias",
        "speculators_config",
        "speculators_model_type",
        "num_nextn_predict_layers",
        "use_aux_norm",
    }
)


def draft(folder: Path) -> Model:
    return read_model(str(folder), "draft")


def header(path: Path, content: bytes, claimed: int | None = None, body: int = 0) -> None:
    path.write_bytes(struct.pack("<Q", len(content) if claimed is None else claimed) + content + bytes(body))


def only_problem(found: Model) -> str:
    assert len(found.problems) == 1
    return f"{found.problems[0].kind} {found.problems[0].path} {found.problems[0].message}"


@pytest.mark.parametrize(
    ("content", "claimed", "words"),
    [
        (b'{"a":', None, "damaged header"),
        (b"{}", 1 << 40, "claims a header"),
        (b"{}", 1000, "ends inside its header"),
        (b'{"a": {"dtype": "BF16", "shape": [4], "data_offsets": [0, 8]}}', None, "truncated"),
        (b'{"a": {"dtype": "BF16", "shape": [4], "data_offsets": [0, 4]}}', None, "where its shape needs"),
        (b'{"a": {"dtype": "BF16", "shape": [-4], "data_offsets": [0, 8]}}', None, "negative"),
        (b'{"a": 7}', None, "damaged header"),
        (b"[" * 100_000, None, "damaged header"),
    ],
)
def test_a_header_that_lies(content: bytes, claimed: int | None, words: str, tmp_path: Path) -> None:
    model(tmp_path, DRAFT_CONFIG)
    header(tmp_path / "model.safetensors", content, claimed)
    found = draft(tmp_path)
    assert words in only_problem(found)
    assert "model.safetensors" in only_problem(found)
    assert found.tensors is None


def test_a_file_that_git_lfs_has_not_fetched(tmp_path: Path) -> None:
    model(tmp_path, DRAFT_CONFIG)
    (tmp_path / "model.safetensors").write_text("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n")
    assert "git lfs pull" in only_problem(draft(tmp_path))


@pytest.mark.parametrize("text", ["", "{", "[]", "[" * 200_000, '"x"', '{"a": 1,}', "\x00\x01"])
def test_a_config_that_is_none(text: str, tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(text)
    found = draft(tmp_path)
    assert only_problem(found).startswith(f"unreadable {tmp_path}/config.json")
    assert found.config is None


def test_a_million_keys(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps({str(key): 0 for key in range(1_000_000)}))
    assert only_problem(draft(tmp_path)).startswith("unreadable")


def test_a_key_given_twice_counts_as_the_server_counts_it(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{"hidden_size": 1, "hidden_size": 2}')
    found = draft(tmp_path)
    assert found.config == {"hidden_size": 2}


def test_links_in_a_circle(tmp_path: Path) -> None:
    (tmp_path / "config.json").symlink_to(tmp_path / "other.json")
    (tmp_path / "other.json").symlink_to(tmp_path / "config.json")
    assert only_problem(draft(tmp_path)).startswith("unreadable")


def test_an_index_that_leads_out_of_the_folder(tmp_path: Path) -> None:
    index = {"weight_map": {"a": "../secret.safetensors"}}
    model(tmp_path, DRAFT_CONFIG, files={"model.safetensors.index.json": json.dumps(index)})
    assert "outside its folder" in only_problem(draft(tmp_path))


def test_an_index_whose_shard_is_missing(tmp_path: Path) -> None:
    index = {"weight_map": {"a": "model-00001-of-00002.safetensors"}}
    model(tmp_path, DRAFT_CONFIG, files={"model.safetensors.index.json": json.dumps(index)})
    assert only_problem(draft(tmp_path)).startswith(f"missing_file {tmp_path}/model-00001-of-00002.safetensors")


class Explosive:
    """Unpickling it writes a file."""

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.write_text, (Path("/tmp/alula-unpickled"), "x")


def test_a_pickle_is_never_opened(tmp_path: Path) -> None:
    model(tmp_path, DRAFT_CONFIG)
    (tmp_path / "pytorch_model.bin").write_bytes(pickle.dumps(Explosive()))
    assert only_problem(draft(tmp_path)).startswith("not_safetensors")
    assert not Path("/tmp/alula-unpickled").exists()


def test_shards_are_read_as_one(tmp_path: Path) -> None:
    tensor = {"dtype": "BF16", "shape": [4], "data_offsets": [0, 8]}
    for name in "ab":
        header(tmp_path / f"{name}.safetensors", json.dumps({name: tensor}).encode(), body=8)
    index = {"weight_map": {"a": "a.safetensors", "b": "b.safetensors"}}
    model(tmp_path, DRAFT_CONFIG, files={"model.safetensors.index.json": json.dumps(index)})
    found = draft(tmp_path)
    assert found.problems == ()
    assert {name: one.file for name, one in (found.tensors or {}).items()} == {
        "a": "a.safetensors",
        "b": "b.safetensors",
    }


@given(content=st.binary(max_size=200), body=st.binary(max_size=16))
@SAME_FOLDER
def test_any_bytes_for_weights(content: bytes, body: bytes, tmp_path: Path) -> None:
    model(tmp_path, DRAFT_CONFIG)
    (tmp_path / "model.safetensors").write_bytes(struct.pack("<Q", len(content)) + content + body)
    draft(tmp_path)


@given(tensor=JSON)
@SAME_FOLDER
def test_any_entry_for_a_tensor(tensor: object, tmp_path: Path) -> None:
    model(tmp_path, DRAFT_CONFIG)
    header(tmp_path / "model.safetensors", json.dumps({"d2t": tensor}).encode())
    draft(tmp_path)


@given(content=JSON)
@SAME_FOLDER
def test_any_json_for_a_tokenizer(content: object, tmp_path: Path) -> None:
    model(tmp_path, DRAFT_CONFIG, files={"tokenizer.json": json.dumps({"model": content, "added_tokens": content})})
    draft(tmp_path)


@given(side=st.sampled_from(["target", "draft"]), key=st.sampled_from(KEYS), value=JSON)
@SAME_FOLDER
def test_any_value_in_a_config_silences_only_what_it_is_for(side: str, key: str, value: object, tmp_path: Path) -> None:
    configs = {"target": TARGET, "draft": DRAFT_CONFIG}
    for name in configs:
        config = {**configs[name], **({key: value} if name == side else {})}
        model(tmp_path / name, config, eagle3_tensors(DRAFT_CONFIG, 1536) if name == "draft" else None)
    read = deployment(f"{SOUND} --speculative-num-draft-tokens 9", tmp_path)
    assert "draft-tokens-adjusted" in {one.rule for one in findings(read)}


def test_a_factor_beyond_all_numbers(tmp_path: Path) -> None:
    model(tmp_path / "target", {**TARGET, "rope_scaling": {"rope_type": "linear", "factor": 1e308}})
    model(tmp_path / "draft", DRAFT_CONFIG, eagle3_tensors(DRAFT_CONFIG, 1536))
    read = deployment(f"{SOUND} --speculative-num-draft-tokens 9", tmp_path)
    assert "draft-tokens-adjusted" in {one.rule for one in findings(read)}
