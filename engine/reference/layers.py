"""The arithmetic of a Llama layer in numpy. Arrays are float32; `rows` are requests, `columns` their tokens."""

from collections.abc import Mapping
from typing import Any

import numpy
from numpy.typing import NDArray

from engine.reference.cache import KeyValueCache
from engine.reference.checkpoint import Floats, ModelConfig

Integers = NDArray[numpy.int64]


def normed(states: Floats, weight: Floats, epsilon: float) -> Floats:
    """Root-mean-square norm over the last dimension."""
    mean_square = numpy.einsum("...i,...i->...", states, states)[..., None] / numpy.float32(states.shape[-1])
    scaled: Floats = states * (weight / numpy.sqrt(mean_square + numpy.float32(epsilon)))
    return scaled


class Rotary:
    """Rotary position embedding in the half-split form of Hugging Face's Llama."""

    def __init__(self, config: ModelConfig, positions: int) -> None:
        powers = numpy.arange(0, config.head_dim, 2) / config.head_dim
        angles = numpy.arange(positions)[:, None] * (config.rope_theta**-powers)[None, :]
        self._cosines = numpy.cos(angles).astype(numpy.float32)
        self._sines = numpy.sin(angles).astype(numpy.float32)

    def __call__(self, heads: Floats, positions: Integers) -> Floats:
        """Turn `heads` [rows, columns, heads, width] by `positions` [rows, columns]."""
        cosines, sines = self._cosines[positions][:, :, None], self._sines[positions][:, :, None]
        half = heads.shape[-1] // 2
        first, second = heads[..., :half], heads[..., half:]
        turned = numpy.empty_like(heads)
        turned[..., :half] = first * cosines - second * sines
        turned[..., half:] = second * cosines + first * sines
        return turned


class Attention:
    """Grouped-query attention of one layer over a cache, and its projections."""

    def __init__(self, tensors: Mapping[str, NDArray[Any]], prefix: str, config: ModelConfig) -> None:
        self._query_heads, self._key_heads = config.num_attention_heads, config.num_key_value_heads
        self._width = config.head_dim
        parts = [tensors[f"{prefix}self_attn.{name}_proj.weight"] for name in "qkv"]
        self._projection = numpy.ascontiguousarray(numpy.concatenate(parts).T)
        self._output = numpy.ascontiguousarray(tensors[f"{prefix}self_attn.o_proj.weight"].T)

    def __call__(
        self, states: Floats, positions: Integers, cache: KeyValueCache, layer: int, slot: int, turn: Rotary
    ) -> Floats:
        """Write keys and values of `states` [rows, columns, inputs], and attend to all up to each own position.

        Row r uses the cache's slot `slot + r`.
        """
        rows, columns = positions.shape
        flat = (states.reshape(rows * columns, -1) @ self._projection).reshape(rows, columns, -1, self._width)
        turned = turn(flat[:, :, : self._query_heads + self._key_heads], positions)
        keys, values = cache.extended(
            layer, slot, positions, turned[:, :, self._query_heads :], flat[:, :, self._query_heads + self._key_heads :]
        )
        groups = self._query_heads // self._key_heads
        query = turned[:, :, : self._query_heads].reshape(rows, columns, self._key_heads, groups, self._width)
        query = query.transpose(0, 2, 3, 1, 4).reshape(rows, self._key_heads, groups * columns, self._width)
        scores = (query * numpy.float32(self._width**-0.5)) @ keys.transpose(0, 1, 3, 2)
        scores = scores.reshape(rows, self._key_heads, groups, columns, -1)
        later = numpy.arange(scores.shape[-1]) > positions[:, :, None]
        numpy.copyto(scores, numpy.float32(-1e30), where=later[:, None, None])
        shares = softmax(scores).reshape(rows, self._key_heads, groups * columns, -1)
        mixed = (shares @ values).reshape(rows, self._key_heads, groups, columns, self._width)
        joined: Floats = mixed.transpose(0, 3, 1, 2, 4).reshape(rows * columns, -1) @ self._output
        return joined


class GatedBlock:
    """The SwiGLU block of one layer."""

    def __init__(self, tensors: Mapping[str, NDArray[Any]], prefix: str) -> None:
        parts = [tensors[f"{prefix}mlp.{name}_proj.weight"] for name in ("gate", "up")]
        self._inner = len(parts[0])
        self._both = numpy.ascontiguousarray(numpy.concatenate(parts).T)
        self._down = numpy.ascontiguousarray(tensors[f"{prefix}mlp.down_proj.weight"].T)

    def __call__(self, states: Floats) -> Floats:
        """`states` is `[tokens, hidden]`."""
        both = states @ self._both
        gate, up = both[:, : self._inner], both[:, self._inner :]
        half = numpy.float32(0.5)
        # silu through tanh: exp overflows float32 at -88
        result: Floats = (gate * up * (half + half * numpy.tanh(gate * half))) @ self._down
        return result


def softmax(scores: Floats) -> Floats:
    """Over the last dimension."""
    powers: Floats = numpy.exp(scores - scores.max(axis=-1, keepdims=True))
    powers /= powers.sum(axis=-1, keepdims=True)
    return powers
