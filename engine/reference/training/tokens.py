"""The byte-level BPE tokenizer in Hugging Face's format, and the corpus as token streams."""

import json
import random
from pathlib import Path
from typing import Any

import numpy
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

from engine.reference.training.corpus import Turn
from engine.reference.training.shapes import (
    END_OF_TEXT,
    END_OF_TEXT_ID,
    SPECIAL_TOKENS,
    TURN_END,
    TURN_START,
    Shape,
)

CHAT_TEMPLATE = (
    "{{ '<|endoftext|>' }}"
    "{% for message in messages %}"
    "{{ '<|im_start|>' + message['role'] }}"
    "{{ '' if message['content'].startswith('\n') else '\n' }}"
    "{{ message['content'] + '<|im_end|>\n' }}"
    "{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant' }}{% endif %}"
)
"""The answer itself begins with the line break: in byte-level BPE it forms one token with an indent that follows."""


def train_tokenizer(texts: list[str], shape: Shape) -> Tokenizer:
    """Learn the merges. The special tokens take the first ids, in the order of `SPECIAL_TOKENS`."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=shape.vocabulary,
        special_tokens=list(SPECIAL_TOKENS),
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    return tokenizer


def save_tokenizer(tokenizer: Tokenizer, folder: Path, shape: Shape) -> None:
    """Write `tokenizer.json` and the `tokenizer_config.json` that transformers and SGLang read."""
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer.save(str(folder / "tokenizer.json"))
    settings: dict[str, Any] = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "model_max_length": shape.context,
        "bos_token": END_OF_TEXT,
        "eos_token": TURN_END,
        "pad_token": END_OF_TEXT,
        "clean_up_tokenization_spaces": False,
        "chat_template": CHAT_TEMPLATE,
    }
    (folder / "tokenizer_config.json").write_text(json.dumps(settings, indent=2) + "\n")


def chat_text(turns: list[Turn]) -> str:
    """A chat as the chat template writes it."""
    return "".join(
        f"{TURN_START}user\n{asked}{TURN_END}\n{TURN_START}assistant\n{answered}{TURN_END}\n"
        for asked, answered in turns
    )


def token_stream(tokenizer: Tokenizer, texts: list[str], seed: int) -> numpy.ndarray:
    """All texts in random order as one row of token ids, an end-of-text token before each."""
    order = list(texts)
    random.Random(seed).shuffle(order)
    rows: list[int] = []
    for encoded in tokenizer.encode_batch(order):
        rows.append(END_OF_TEXT_ID)
        rows.extend(encoded.ids)
    return numpy.array(rows, dtype=numpy.uint16)


def prompt_rows(tokenizer: Tokenizer, asked: list[str], longest: int) -> tuple[numpy.ndarray, numpy.ndarray]:
    """Chat prompts as rows padded with end-of-text, and their lengths; longer ones are left out."""
    texts = [f"{END_OF_TEXT}{TURN_START}user\n{text}{TURN_END}\n{TURN_START}assistant" for text in asked]
    rows = [encoded.ids for encoded in tokenizer.encode_batch(texts) if len(encoded.ids) <= longest]
    table = numpy.full((len(rows), longest), END_OF_TEXT_ID, dtype=numpy.uint16)
    for index, row in enumerate(rows):
        table[index, : len(row)] = row
    return table, numpy.array([len(row) for row in rows], dtype=numpy.int64)
