"""The EAGLE-3 draft in numpy, with SGLang's own conditions and silences (sglang 0.5.23, models/llama_eagle3.py)."""

import numpy

from engine.reference.cache import KeyValueCache
from engine.reference.checkpoint import Checkpoint, CheckpointError, Floats
from engine.reference.layers import Attention, GatedBlock, Integers, Rotary, normed
from engine.reference.target import Target


class Draft:
    """One layer over the token's embedding and a state. Takes the target's embedding table, as SGLang does."""

    def __init__(self, checkpoint: Checkpoint, target: Target, positions: int, own_head: bool) -> None:
        """`own_head` is true under EAGLE3. Otherwise the target's head takes the place of the draft's, cut to the
        first `draft_vocab_size` rows, and `d2t` is not applied (speculative/eagle_worker_v2.py, `init_lm_head`)."""
        config, tensors = checkpoint.config, checkpoint.tensors
        if config.vocab_size != target.config.vocab_size or config.hidden_size != target.config.hidden_size:
            sizes = f"{config.vocab_size} x {config.hidden_size}"
            expected = f"{target.config.vocab_size} x {target.config.hidden_size}"
            message = f"{checkpoint.folder}: vocabulary and hidden size are {sizes}, the target's {expected}."
            raise CheckpointError(message, "Give a draft that was trained for this target.")
        self.config = config
        self._embeddings = target.embeddings
        self._rotary = Rotary(config, positions)
        self._combine: Floats = numpy.ascontiguousarray(tensors["fc.weight"].T)
        self._attention = Attention(tensors, "midlayer.", config)
        self._gated = GatedBlock(tensors, "midlayer.")
        norms = ("midlayer.input_layernorm", "midlayer.hidden_norm", "midlayer.post_attention_layernorm", "norm")
        self._token_norm, self._state_norm, self._gated_norm, self._norm = (tensors[f"{n}.weight"] for n in norms)
        rows = config.draft_vocab_size or config.vocab_size
        ids = numpy.arange(rows)
        self._target_ids: Integers = ids + tensors["d2t"] if own_head and "d2t" in tensors else ids
        head = tensors["lm_head.weight"].T if own_head else target.head[:, :rows]
        self._head: Floats = numpy.ascontiguousarray(head)

    def new_cache(self, slots: int, positions: int) -> KeyValueCache:
        """A cache for the draft's one layer."""
        return KeyValueCache(1, slots, self.config.num_key_value_heads, positions, self.config.head_dim)

    def forward(self, tokens: Integers, states: Floats, positions: Integers, cache: KeyValueCache, slot: int) -> Floats:
        """New states `[rows, columns, hidden]` from the target's states, or from the draft's own of the step before.

        `fc` runs only where the states' width differs from the embeddings'.
        """
        rows, columns = tokens.shape
        epsilon = self.config.rms_norm_eps
        embedded = self._embeddings[tokens]
        if states.shape[-1] != embedded.shape[-1]:
            states = states @ self._combine
        inner = numpy.concatenate(
            [normed(embedded, self._token_norm, epsilon), normed(states, self._state_norm, epsilon)], axis=-1
        )
        flat = states.reshape(rows * columns, -1)
        flat = flat + self._attention(inner, positions, cache, 0, slot, self._rotary)
        flat = flat + self._gated(normed(flat, self._gated_norm, epsilon))
        return flat.reshape(rows, columns, -1)

    def proposed(self, states: Floats) -> Integers:
        """The likeliest next token, as the target's id, for each state `[..., hidden]`."""
        logits = normed(states, self._norm, self.config.rms_norm_eps) @ self._head
        chosen: Integers = self._target_ids[logits.argmax(axis=-1)]
        return chosen
