"""The files that ship: small enough, and a sound pair."""

import json

import numpy
import pytest

from engine.reference.checkpoint import (
    DRAFT_CLASS,
    SHIPPED,
    TARGET_CLASS,
    CheckpointError,
    read_checkpoint,
    shipped_draft,
    shipped_target,
)
from engine.reference.settings import captured_layers
from engine.reference.vocabulary import ChatMessage, Vocabulary


def test_all_shipped_files_together_are_under_8_mb() -> None:
    assert sum(path.stat().st_size for path in SHIPPED.rglob("*") if path.is_file()) < 8_000_000


def test_the_draft_fits_the_target() -> None:
    target = read_checkpoint(shipped_target(), TARGET_CLASS)
    draft = read_checkpoint(shipped_draft(), DRAFT_CLASS)
    layers = captured_layers(draft.config, target.config.num_hidden_layers)
    assert layers == (2, 4, 5), "the default of SGLang for eight layers: all three differ"
    assert draft.tensors["fc.weight"].shape == (draft.config.hidden_size, 3 * target.config.hidden_size)
    ids = numpy.arange(draft.config.draft_vocab_size or 0) + draft.tensors["d2t"]
    assert len(set(ids.tolist())) == draft.config.draft_vocab_size == len(draft.tensors["lm_head.weight"])
    assert numpy.array_equal(numpy.flatnonzero(draft.tensors["t2d"]), ids)
    assert draft.config.eos_token_id == target.config.eos_token_id
    assert draft.config.max_position_embeddings >= target.config.max_position_embeddings


def test_the_training_manifest_says_what_the_draft_was_trained_on() -> None:
    manifest = json.loads((shipped_draft() / "training.json").read_text())
    config = json.loads((shipped_draft() / "config.json").read_text())
    assert manifest["aux_hidden_state_layer_ids"] == config["eagle_config"]["eagle_aux_hidden_state_layer_ids"]
    assert manifest["norm_output"] is False


def test_the_chat_template_keeps_an_answer_that_begins_with_a_line_break() -> None:
    vocabulary = Vocabulary(shipped_target())
    turns = [ChatMessage("user", "def f():"), ChatMessage("assistant", "\n    pass"), ChatMessage("user", "again")]
    assert vocabulary.decode(vocabulary.chat(turns), special=True) == (
        "<|endoftext|><|im_start|>user\ndef f():<|im_end|>\n<|im_start|>assistant\n    pass<|im_end|>\n"
        "<|im_start|>user\nagain<|im_end|>\n<|im_start|>assistant"
    )


def test_a_folder_of_another_class_is_refused_by_name() -> None:
    with pytest.raises(CheckpointError, match="LlamaForCausalLMEagle3, not LlamaForCausalLM"):
        read_checkpoint(shipped_draft(), TARGET_CLASS)
