"""What a training recipe tells beside itself: the draft config, the target and the data that it names."""

import json
from pathlib import Path
from typing import Any

import pytest

from engine.check.training_recipe import read_recipe

TARGET = {"hidden_size": 64, "num_hidden_layers": 32}


def said(words: int, speaker: str = "assistant", **more: Any) -> dict[str, Any]:
    return {"conversations": [{"role": "user", "content": "a"}, {"role": speaker, "content": "word " * words}], **more}


def told(
    root: Path, rows: list[Any], name: str = "data.jsonl", strategy: str = "eagle3", **files: object
) -> dict[str, Any]:
    """What is read for a recipe that names these files from beside itself."""
    (root / "target").mkdir()
    (root / "target" / "config.json").write_text(json.dumps({"text_config": TARGET}))
    (root / name).write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    for file, content in files.items():
        (root / f"{file}.json").write_text(json.dumps(content))
    draft = "draft.json" if "draft" in files else "null"
    (root / "run.yaml").write_text(
        f"model: {{target_model_path: target, draft_model_config: {draft}}}\n"
        f"data: {{train_data_path: {name}, max_length: 64}}\ntraining: {{strategy: {strategy}}}\n"
    )
    return read_recipe(root / "run.yaml")


@pytest.mark.parametrize(
    ("rows", "name", "model"),
    [
        ([said(1)], "sharegpt_train.jsonl", "sharegpt_train.jsonl as published"),
        ([said(1, status="success")], "sharegpt_train.jsonl", None),
        ([said(1)], "sharegpt-mine.jsonl", None),
        ([said(1, "gpt")], "data.jsonl", "gpt"),
        ([said(1, model="vicuna-13b")], "data.jsonl", "vicuna-13b"),
        ([said(1, model="vicuna-13b"), said(1), said(1)], "data.jsonl", None),
        ([[], 1, "no row"], "data.jsonl", None),
    ],
)
def test_whose_answers_they_are(tmp_path: Path, rows: list[Any], name: str, model: str | None) -> None:
    assert told(tmp_path, rows, name).get("answers_model") == model


def test_an_export_of_its_own_names_the_model(tmp_path: Path) -> None:
    (tmp_path / "data.manifest.json").write_text('{"file": "data.jsonl", "model": "a/model"}')
    assert told(tmp_path, [said(1, "gpt")])["answers_model"] == "a/model"


@pytest.mark.parametrize(
    ("rows", "share"),
    [
        ([said(2)] * 8 + [said(200)] * 2, 0.2),
        ([{"input_ids": [1] * 64}] * 9 + [{"input_ids": [1] * 65}], 0.1),
        ([{"text": "a" * 520}] * 10, 1.0),
        ([said(200)] * 9, None),
    ],
)
def test_how_many_are_surely_too_long(tmp_path: Path, rows: list[Any], share: float | None) -> None:
    assert told(tmp_path, rows).get("share_longer_than_max_length") == share


def test_layers_and_vocabulary_are_those_of_the_draft_config(tmp_path: Path) -> None:
    ids = {"eagle_aux_hidden_state_layer_ids": [2, 16, 29]}
    found = told(tmp_path, [], draft={"draft_vocab_size": 128, "eagle_config": ids})
    assert (found["trained_layer_ids"], found["draft_vocab_size"], found["trained_hidden_size"]) == (
        [2, 16, 29],
        128,
        64,
    )


def test_without_a_draft_config_specforge_takes_its_default(tmp_path: Path) -> None:
    assert told(tmp_path, [])["trained_layer_ids"] == [1, 15, 28]


def test_another_strategy_captures_no_three_layers(tmp_path: Path) -> None:
    assert "trained_layer_ids" not in told(tmp_path, [], strategy="dflash")


@pytest.mark.parametrize("named", ["/no/such/file", "run.yaml", ".", "/dev/zero", "a\\0b"])
def test_files_that_are_not_here_or_are_none_add_nothing(tmp_path: Path, named: str) -> None:
    recipe = tmp_path / "run.yaml"
    recipe.write_text(
        f'model: {{target_model_path: "{named}", draft_model_config: "{named}"}}\n'
        f'data: {{train_data_path: "{named}"}}\n'
    )
    assert set(read_recipe(recipe)) == {"model", "data"}
