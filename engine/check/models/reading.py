"""A model's folder to one record. What is missing or damaged becomes a problem of the record, never an exception."""

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from engine.check.models.json_files import Unreadable, read_json_object
from engine.check.models.locating import locate
from engine.check.models.safetensors_files import read_header, read_index, read_integers
from engine.check.models.tokenizers import fingerprint
from engine.check.paths import is_file
from engine.check.records import Model, ModelProblem, Role, Tensor

INTEGER_TENSORS = ("d2t", "t2d")
TRAINING_MANIFESTS = ("training.json", "training_config.json", "manifest.json", "eagle_training.json")
PICKLES = ("pytorch_model.bin", "pytorch_model.bin.index.json", "model.pt", "pytorch_model.pt")
INDEX = "model.safetensors.index.json"
Content = TypeVar("Content")


def read_model(reference: str, role: Role, revision: str | None = None, search_from: Path | None = None) -> Model:
    """Read a model by folder or repository id, offline.

    Args:
        reference: As the command names it.
        role: What it is in the deployment.
        revision: Branch, tag or commit, for a repository.
        search_from: Where relative paths start.
    """
    folder = locate(reference, revision, search_from)
    if isinstance(folder, ModelProblem):
        return Model(role=role, reference=reference, folder=None, problems=(folder,))
    reading = _Reading(folder)
    config = reading.json("config.json", needed=True)
    tensors = reading.tensors()
    return Model(
        role=role,
        reference=reference,
        folder=str(folder),
        config=config,
        generation_config=reading.json("generation_config.json"),
        tokenizer_config=reading.json("tokenizer_config.json"),
        tokenizer_fingerprint=reading.attempt("tokenizer.json", lambda: fingerprint(folder)),
        quantization_config=_quantization(config, reading.json("hf_quant_config.json")),
        training=_training(reading),
        tensors=tensors,
        integers=reading.integers(tensors),
        problems=tuple(reading.problems),
    )


class _Reading:
    """One folder, and what went wrong with it so far."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.problems: list[ModelProblem] = []

    def attempt(self, name: str, read: Callable[[], Content], *, needed: bool = False) -> Content | None:
        """Run a read; note what goes wrong under this file's name."""
        try:
            return read()
        except FileNotFoundError:
            if needed:
                self._note("missing_file", name, "is not there")
        except Unreadable as error:
            self._note("unreadable", name, str(error))
        except OSError as error:
            self._note("unreadable", name, f"cannot be read: {error.strerror}")
        return None

    def json(self, name: str, *, needed: bool = False) -> Mapping[str, Any] | None:
        """A JSON file of the folder."""
        return self.attempt(name, lambda: read_json_object(self.folder / name), needed=needed)

    def tensors(self) -> Mapping[str, Tensor] | None:
        """Headers of all shards; `None` where there is no readable one."""
        weight_map = self.attempt(INDEX, lambda: read_index(self.folder / INDEX))
        names = sorted(set(weight_map.values())) if weight_map else sorted(self._single_files())
        found: dict[str, Tensor] = {}
        unreadable = 0
        for name in names:
            header = self.attempt(name, lambda name=name: read_header(self.folder / name), needed=True)  # type: ignore[misc]
            unreadable += header is None
            found.update(header or {})
        if not names and any(is_file(self.folder / pickle) for pickle in PICKLES):
            self._note("not_safetensors", str(PICKLES[0]), "pickled weights are not opened")
        if weight_map and not unreadable:
            self._compare_index(weight_map, found)
        return found if names and not unreadable else None

    def integers(self, tensors: Mapping[str, Tensor] | None) -> dict[str, tuple[int, ...]]:
        """Values of the vocabulary maps."""
        found = {}
        for name, tensor in (tensors or {}).items():
            short = name.rpartition(".")[2]
            if short in INTEGER_TENSORS:
                values = self.attempt(tensor.file, lambda t=tensor: read_integers(self.folder / t.file, t.name))  # type: ignore[misc]
                if values is not None:
                    found[short] = values
        return found

    def _single_files(self) -> list[str]:
        if is_file(self.folder / "model.safetensors"):
            return ["model.safetensors"]
        return [path.name for path in self.folder.glob("*.safetensors") if is_file(path)][:MOST_LOOSE_FILES]

    def _compare_index(self, weight_map: Mapping[str, str], found: Mapping[str, Tensor]) -> None:
        missing = [name for name, shard in weight_map.items() if name not in found or found[name].file != shard]
        if missing:
            self._note(
                "unreadable", INDEX, f"names {len(missing)} tensors that its shards lack, first {missing[0][:100]}"
            )

    def _note(self, kind: Any, name: str, message: str) -> None:
        self.problems.append(ModelProblem(kind=kind, path=str(self.folder / name), message=message))


MOST_LOOSE_FILES = 2000
LARGEST_CARD = 1 << 16
BASE_MODEL = re.compile(r"\A---[ \t\r]*\n(?:(?!---).*\n)*?base_model:[ \t]*(?:\n[ \t]*- )?['\"]?([\w./-]+)")


def _training(reading: _Reading) -> Mapping[str, Any] | None:
    """The training manifest, and the base model that the model card names in its front matter."""
    manifest = next((found for name in TRAINING_MANIFESTS if (found := reading.json(name))), None)
    card = reading.attempt("README.md", lambda: _beginning(reading.folder / "README.md"))
    named = BASE_MODEL.match(card) if card is not None else None
    return {"base_model": named[1], **(manifest or {})} if named is not None else manifest


def _beginning(path: Path) -> str:
    with path.open("rb") as stream:
        return stream.read(LARGEST_CARD).decode(errors="replace")


def _quantization(config: Mapping[str, Any] | None, separate: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    for name in ("quantization_config", "compression_config"):
        found = (config or {}).get(name)
        if isinstance(found, Mapping):
            return found
    nested = (config or {}).get("text_config")
    if isinstance(nested, Mapping) and isinstance(nested.get("quantization_config"), Mapping):
        return dict(nested["quantization_config"])
    return separate
