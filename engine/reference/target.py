"""The target: `LlamaForCausalLM` in numpy, with SGLang's capture of layer states for a draft."""

from typing import NamedTuple

import numpy

from engine.reference.cache import KeyValueCache
from engine.reference.checkpoint import Checkpoint, Floats
from engine.reference.layers import Attention, GatedBlock, Integers, Rotary, normed


class TargetStates(NamedTuple):
    """What one forward pass gives, `[rows, columns, ...]`."""

    final: Floats
    """After the last norm, `hidden` wide."""
    captured: Floats | None
    """Inputs of the captured layers side by side, in layer order; `None` where none is captured."""


class Target:
    """Weights laid out for inference. Holds no state of any request."""

    def __init__(self, checkpoint: Checkpoint, positions: int, captured_layers: tuple[int, ...] = ()) -> None:
        config, tensors = checkpoint.config, checkpoint.tensors
        self.config = config
        self.embeddings: Floats = tensors["model.embed_tokens.weight"]
        head = self.embeddings if config.tie_word_embeddings else tensors["lm_head.weight"]
        self.head: Floats = numpy.ascontiguousarray(head.T)
        self._captured_layers = frozenset(captured_layers)
        self._rotary = Rotary(config, positions)
        self._norm = tensors["model.norm.weight"]
        prefixes = [f"model.layers.{layer}." for layer in range(config.num_hidden_layers)]
        self._attention = [Attention(tensors, prefix, config) for prefix in prefixes]
        self._gated = [GatedBlock(tensors, prefix) for prefix in prefixes]
        self._attention_norm = [tensors[prefix + "input_layernorm.weight"] for prefix in prefixes]
        self._gated_norm = [tensors[prefix + "post_attention_layernorm.weight"] for prefix in prefixes]

    def new_cache(self, slots: int, positions: int) -> KeyValueCache:
        """A cache for this model's layers."""
        config = self.config
        return KeyValueCache(config.num_hidden_layers, slots, config.num_key_value_heads, positions, config.head_dim)

    def forward(self, tokens: Integers, positions: Integers, cache: KeyValueCache, slot: int) -> TargetStates:
        """Run `tokens` [rows, columns] at `positions`; row r uses cache slot `slot + r`."""
        rows, columns = tokens.shape
        epsilon = self.config.rms_norm_eps
        states = self.embeddings[tokens.reshape(-1)]
        captured = []
        for layer in range(self.config.num_hidden_layers):
            if layer in self._captured_layers:
                captured.append(states)
            inner = normed(states, self._attention_norm[layer], epsilon).reshape(rows, columns, -1)
            states = states + self._attention[layer](inner, positions, cache, layer, slot, self._rotary)
            states = states + self._gated[layer](normed(states, self._gated_norm[layer], epsilon))
        final = normed(states, self._norm, epsilon).reshape(rows, columns, -1)
        beside = numpy.concatenate(captured, axis=-1).reshape(rows, columns, -1) if captured else None
        return TargetStates(final, beside)

    def logits(self, final: Floats) -> Floats:
        """`[..., hidden]` to `[..., vocabulary]`."""
        return final @ self.head
