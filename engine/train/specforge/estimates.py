"""Disk for hidden states and memory of a training GPU, before anything starts."""

from collections.abc import Mapping
from typing import Any

import msgspec

STATE_BYTES = 2
"""bfloat16."""
STATES_A_TOKEN = 4
"""The last state and three captured ones (SpecForge a6b6b02, scripts/prepare_hidden_states.py)."""
ID_BYTES = 16
"""`input_ids` and `loss_mask`, int64 each."""
TRAINED_BYTES = 2 + 2 + 4 + 4 + 4
"""A trained parameter: weight and gradient in bfloat16; master copy and Adam's two moments in float32
(SpecForge a6b6b02, optimizer.py `BF16Optimizer`)."""


class MemoryEstimate(msgspec.Struct, frozen=True, kw_only=True):
    """Bytes on each training GPU, without sharding between GPUs: what they share makes it less."""

    draft: int
    """Weights, gradients and optimizer."""
    frozen: int
    """The target's embedding table and head."""
    teacher: int
    """The target's logits over its whole vocabulary and its probabilities over the draft's."""
    unrolled: int
    """What the training-time test keeps for the backward pass, all depths together."""

    @property
    def total(self) -> int:
        """All of it."""
        return self.draft + self.frozen + self.teacher + self.unrolled


def hidden_state_bytes(tokens: int, hidden: int) -> int:
    """Disk for the states of `tokens` tokens of a target that is `hidden` wide."""
    return tokens * (STATES_A_TOKEN * hidden * STATE_BYTES + ID_BYTES)


def draft_parameters(draft: Mapping[str, Any]) -> int:
    """Trained parameters of a Llama-shaped EAGLE-3 draft; norms left out."""
    hidden, heads = draft["hidden_size"], draft["num_attention_heads"]
    kv_heads = draft.get("num_key_value_heads") or heads
    width = draft.get("head_dim") or hidden // heads
    fc = 3 * (draft.get("target_hidden_size") or hidden) * hidden
    attention = 2 * hidden * width * (heads + 2 * kv_heads) + heads * width * hidden
    head = (draft.get("draft_vocab_size") or draft["vocab_size"]) * hidden
    return int(fc + attention + 3 * hidden * draft["intermediate_size"] + head)


def memory(draft: Mapping[str, Any], tokens: int, ttt_length: int) -> MemoryEstimate:
    """Memory for a batch of `tokens` tokens.

    From the sizes of what SpecForge a6b6b02 keeps (algorithms/eagle3/model.py): the teacher's logits in bfloat16 and
    once more in float32 for the softmax; for each depth the draft's logits, their gradient, and about 12 states as
    wide as the model with the feed-forward's three. Not measured; fragmentation comes on top.
    """
    hidden, vocabulary = draft["hidden_size"], draft["vocab_size"]
    rows = draft.get("draft_vocab_size") or vocabulary
    depth = rows * (2 + 4) + (12 * hidden + 3 * draft["intermediate_size"]) * 2
    return MemoryEstimate(
        draft=draft_parameters(draft) * TRAINED_BYTES,
        frozen=2 * vocabulary * (draft.get("target_hidden_size") or hidden) * STATE_BYTES,
        teacher=tokens * (vocabulary * (2 + 4) + 2 * rows * 4),
        unrolled=tokens * depth * ttt_length,
    )
