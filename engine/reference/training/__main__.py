"""Two commands: `prepare` turns source text into tokens, `train` makes target and draft of them."""

import json
import os
import sysconfig
import time
from pathlib import Path
from typing import Any

import click
import numpy

from engine.reference.training.corpus import chats, source_files
from engine.reference.training.shapes import Shape

HELD_BACK_TOKENS = 100_000
LONGEST_PROMPT = 320


@click.group()
def training() -> None:
    """Train the reference target and its EAGLE-3 draft.

    Example: python -m engine.reference.training prepare /tmp/tokens && python -m engine.reference.training train
    /tmp/tokens /tmp/checkpoint
    """


@training.command()
@click.argument("tokens", type=click.Path(path_type=Path))
@click.option("--source", multiple=True, type=click.Path(path_type=Path), help="Folder; default: the standard library.")
@click.option("--seed", default=1, show_default=True)
def prepare(tokens: Path, source: tuple[Path, ...], seed: int) -> None:
    """Read Python source, train the tokenizer, write token streams and prompts to the folder TOKENS."""
    from engine.reference.training.tokens import chat_text, prompt_rows, save_tokenizer, token_stream, train_tokenizer

    shape = Shape()
    sources = source_files(list(source) or [Path(sysconfig.get_path("stdlib"))])
    talks = chats(sources, seed)
    conversations = [chat_text(turns) for turns in talks]
    _say(f"{len(sources)} files, {sum(map(len, sources)) / 1e6:.1f} M characters, {len(talks)} chats")
    tokenizer = train_tokenizer(sources + conversations, shape)
    save_tokenizer(tokenizer, tokens / "tokenizer", shape)
    files, talk = token_stream(tokenizer, sources, seed), token_stream(tokenizer, conversations, seed)
    prompts, lengths = prompt_rows(tokenizer, [turns[0][0] for turns in talks], LONGEST_PROMPT)
    numpy.savez_compressed(tokens / "corpus.npz", files=files, chats=talk, prompts=prompts, lengths=lengths)
    _say(f"{(len(files) + len(talk)) / 1e6:.2f} M tokens, {len(prompts)} prompts")


@training.command()
@click.argument("tokens", type=click.Path(path_type=Path, exists=True))
@click.argument("output", type=click.Path(path_type=Path))
@click.option("--target-seconds", default=150.0, show_default=True)
@click.option("--draft-seconds", default=120.0, show_default=True)
@click.option("--draft-rate", default=2e-3, show_default=True, help="Peak learning rate of the draft.")
@click.option(
    "--start", type=click.Path(path_type=Path, exists=True), help="Keep this pair's target, train its draft on."
)
@click.option(
    "--batch", default=64, show_default=True, help="Windows of 1,024 tokens in a step; answers for the draft."
)
@click.option("--answer-rounds", default=4, show_default=True, help="Batches of answers for the draft.")
@click.option("--answer-rows", default=4096, show_default=True, help="Answers in a batch.")
@click.option("--answer-length", default=512, show_default=True, help="Tokens of prompt and answer together.")
def train(
    tokens: Path, output: Path, start: Path | None, draft_seconds: float, draft_rate: float, **given: Any
) -> None:
    """Train target and draft on the folder TOKENS; write OUTPUT/target and OUTPUT/draft."""
    import torch

    from engine.reference.training.draft_training import DEPTH, train_draft
    from engine.reference.training.export import read_pair, save_draft

    torch.manual_seed(1)
    torch.set_float32_matmul_precision("high")
    shape, corpus, batch = Shape(), numpy.load(tokens / "corpus.npz"), given["batch"]
    before, history = None, {}
    if start is None:
        target, history["target_training"] = _trained_target(
            tokens, corpus, output, shape, given["target_seconds"], batch
        )
    else:
        target, *pair = read_pair(start)
        before = pair[0], pair[1]
        target = {name: tensor.to(_device()) for name, tensor in target.items()}
        history = json.loads((start / "draft" / "training.json").read_text())
        history["earlier_draft_training"] = history.pop("draft_training")
    answers = _answers(corpus, target, shape, given["answer_rounds"], given["answer_rows"], given["answer_length"])
    draft, covered, figures = train_draft(
        target, answers, shape, draft_seconds, batch, _say, rate=draft_rate, start=before
    )
    manifest = {
        "data": "CPython standard library source; for the draft, the target's own answers",
        "norm_output": False,
        "training_time_test_depth": DEPTH,
        "draft_training": figures | {"answers": len(answers)},
    }
    save_draft(draft, covered, output / "draft", shape, history | manifest)


def _trained_target(tokens: Path, corpus: Any, output: Path, shape: Shape, seconds: float, batch: int) -> Any:
    import shutil

    from engine.reference.training.export import save_target
    from engine.reference.training.target_training import train_target

    talk = corpus["chats"]
    split = len(talk) - min(HELD_BACK_TOKENS, len(talk) // 10)
    target, figures = train_target([corpus["files"], talk[:split]], talk[split:], shape, seconds, batch, _say)
    shutil.copytree(tokens / "tokenizer", output / "target", dirs_exist_ok=True)
    save_target(target, output / "target", shape)
    return target, figures


def _device() -> str:
    import torch

    return "cuda" if torch.cuda.is_available() else "cpu"


def _answers(corpus: Any, target: Any, shape: Shape, rounds: int, rows: int, length: int) -> Any:
    import torch

    from engine.reference.training.answers import answered

    device = _device()
    prompts = torch.from_numpy(corpus["prompts"].astype(numpy.int64)).to(device)
    lengths = torch.from_numpy(corpus["lengths"]).to(device)
    files = torch.from_numpy(corpus["files"].astype(numpy.int32)).to(device)
    temperatures = torch.arange(rows, device=device) % 2 * 1.0
    plain = torch.arange(rows, device=device) < rows // 4
    parts = []
    for number in range(rounds):
        chosen = torch.randint(0, len(prompts), (rows,), device=device)
        starts = torch.randint(0, len(files) - LONGEST_PROMPT, (rows, 1), device=device)
        windows = files[starts + torch.arange(LONGEST_PROMPT, device=device)].long()
        asked = torch.where(plain[:, None], windows, prompts[chosen])
        cut = torch.where(plain, torch.randint(8, 96, (rows,), device=device), lengths[chosen])
        parts.append(answered(target, asked, cut, length, temperatures, shape))
        _say(f"answers: round {number + 1} of {rounds}")
    return torch.cat(parts)


_BEGAN = time.monotonic()


def _say(text: str) -> None:
    click.echo(f"{time.monotonic() - _BEGAN:6.1f} s  {text}")


if __name__ == "__main__":
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "true")
    training(prog_name="python -m engine.reference.training")
