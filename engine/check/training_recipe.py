"""Reads a training recipe: SpecForge's run.yaml, the draft config and target that it names, and a look at its data."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from engine.check.bounded_file import read_text
from engine.check.bounded_yaml import documents, value_of
from engine.check.errors import SourceUnreadable
from engine.check.models.json_files import Unreadable, read_json_object, text_config
from engine.check.paths import at_home, exists, is_file
from engine.check.records import Place
from engine.check.training_data import look_at_data

DEFAULT_MAX_LENGTH = 2048
"""SpecForge a6b6b02, config/schema.py."""
IDS = "eagle_aux_hidden_state_layer_ids"


def read_recipe(path: Path) -> dict[str, Any]:
    """The recipe, with what the files that it names say beside it, under keys of their own; raises `SourceUnreadable`.

    Added where known: `draft_vocab_size`, `trained_layer_ids`, `trained_hidden_size`, `answers_model` and
    `share_longer_than_max_length`. A file that is not here adds nothing.
    """
    name = str(path)
    (root, *_) = [*documents(read_text(path), name), None]
    found = value_of(root, name) if root is not None else None
    if not isinstance(found, dict):
        raise SourceUnreadable("is no training recipe: a mapping is expected", Place(name), "give run.yaml")
    return {**_from_models(found, path.parent), **_from_data(found, path.parent), **found}


def section(recipe: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """A section of a recipe; empty where there is none."""
    found = recipe.get(name)
    return found if isinstance(found, Mapping) else {}


def _from_models(recipe: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """Layers as SpecForge takes them: the recipe's, the draft config's, its default (model_providers.py)."""
    model = section(recipe, "model")
    strategy = section(recipe, "training").get("strategy", "eagle3")
    named = model.get("draft_model_config")
    draft = _config(folder, named)
    target = text_config(_config(folder, model.get("target_model_path"), "config.json") or {})
    size = (draft or {}).get("draft_vocab_size")
    added: dict[str, Any] = {} if size is None else {"draft_vocab_size": size}
    if strategy not in ("eagle3", "peagle"):
        return added
    hidden, layers = target.get("hidden_size"), target.get("num_hidden_layers")
    if isinstance(hidden, int):
        added["trained_hidden_size"] = hidden
    ids = model.get("aux_hidden_state_layer_ids") or section(draft or {}, "eagle_config").get(IDS)
    if ids is None and isinstance(layers, int) and (draft is not None or named is None):
        ids = [1, layers // 2 - 1, layers - 4]
    if isinstance(ids, list) and ids and all(isinstance(one, int) for one in ids):
        added["trained_layer_ids"] = ids
    return added


def _from_data(recipe: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    data = section(recipe, "data")
    named = data.get("prompts_path") or data.get("train_data_path")
    length = data.get("max_length", DEFAULT_MAX_LENGTH)
    path = _place(folder, named)
    if path is None or not is_file(path) or not isinstance(length, int):
        return {}
    return look_at_data(path, length)


def _config(folder: Path, named: object, inside: str | None = None) -> dict[str, Any] | None:
    place = _place(folder, named)
    path = place / inside if place is not None and inside is not None else place
    if path is None or not is_file(path):
        return None
    try:
        return read_json_object(path)
    except (Unreadable, FileNotFoundError):
        return None


def _place(folder: Path, named: object) -> Path | None:
    """A path as the trainer finds it: from where it is started, else from beside the recipe."""
    if not isinstance(named, str) or not named:
        return None
    path = at_home(named)
    return path if path.is_absolute() or exists(path) else folder / path
