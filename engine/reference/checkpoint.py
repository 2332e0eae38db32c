"""Where the shipped checkpoint lies, and reading a checkpoint of the two classes that the reference server knows."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import numpy
from numpy.typing import NDArray

Floats = NDArray[numpy.float32]

SHIPPED = Path(__file__).parent / "checkpoint"
TARGET_CLASS, DRAFT_CLASS = "LlamaForCausalLM", "LlamaForCausalLMEagle3"


class CheckpointError(Exception):
    """A model folder that cannot be served: the message says which file and why, `remedy` what to do."""

    def __init__(self, message: str, remedy: str) -> None:
        super().__init__(message)
        self.remedy = remedy


class ModelConfig(msgspec.Struct, frozen=True, kw_only=True):
    """The fields of a `config.json` that inference needs."""

    architectures: tuple[str, ...]
    model_type: str
    hidden_size: int
    num_hidden_layers: int
    num_attention_heads: int
    num_key_value_heads: int
    head_dim: int
    intermediate_size: int
    vocab_size: int
    max_position_embeddings: int
    rms_norm_eps: float
    eos_token_id: int
    rope_theta: float = 10000.0
    tie_word_embeddings: bool = False
    draft_vocab_size: int | None = None
    target_hidden_size: int | None = None
    eagle_config: Mapping[str, Any] = {}


class Checkpoint(msgspec.Struct, frozen=True):
    """A model in memory: its configuration and its tensors, floats as float32."""

    folder: Path
    config: ModelConfig
    tensors: Mapping[str, NDArray[Any]]


def shipped_target() -> Path:
    """Folder of the target that comes with Alula."""
    return SHIPPED / "target"


def shipped_draft() -> Path:
    """Folder of the EAGLE-3 draft that comes with Alula."""
    return SHIPPED / "draft"


def read_checkpoint(folder: Path, architecture: str) -> Checkpoint:
    """Read `config.json` and `model.safetensors`. Raises `CheckpointError` where they are not what can be served."""
    from safetensors import SafetensorError
    from safetensors.numpy import load_file

    config = _config(folder / "config.json")
    if config.architectures != (architecture,):
        found = ", ".join(config.architectures)
        raise CheckpointError(f"{folder}: its class is {found}, not {architecture}.", "Give a folder of that class.")
    weights = folder / "model.safetensors"
    try:
        tensors = load_file(weights)
    except (OSError, SafetensorError, KeyError, TypeError, AttributeError) as error:
        remedy = "The reference server reads one safetensors file of float16 or float32."
        raise CheckpointError(f"{weights} cannot be read: {error}", remedy) from error
    return Checkpoint(folder, config, {name: _wide(tensor) for name, tensor in tensors.items()})


def _config(path: Path) -> ModelConfig:
    try:
        return msgspec.json.decode(path.read_bytes(), type=ModelConfig)
    except OSError as error:
        remedy = "Give a local model folder; `alula reference paths` names those that come with Alula."
        raise CheckpointError(f"{path} cannot be read: {error.strerror}", remedy) from error
    except (msgspec.DecodeError, msgspec.ValidationError, RecursionError) as error:
        raise CheckpointError(f"{path}: {error}", "The reference server serves small Llama models only.") from error


def _wide(tensor: NDArray[Any]) -> NDArray[Any]:
    return tensor.astype(numpy.float32) if tensor.dtype == numpy.float16 else tensor
