"""Two commands: `prepare` turns source text into tokens, `train` makes target and draft of them."""

import json
import os
import sysconfig
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import msgspec
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


SIZE = click.option("--size", type=click.Choice(["small", "large"]), default="small", show_default=True, help="Shapes.")


@training.command()
@click.argument("tokens", type=click.Path(path_type=Path))
@click.option("--source", multiple=True, type=click.Path(path_type=Path), help="Folder; default: the standard library.")
@click.option("--seed", default=1, show_default=True)
@SIZE
def prepare(tokens: Path, source: tuple[Path, ...], seed: int, size: str) -> None:
    """Read Python source, train the tokenizer, write token streams and prompts to the folder TOKENS."""
    from engine.reference.training.shapes import SIZES
    from engine.reference.training.tokens import chat_text, prompt_rows, save_tokenizer, token_stream, train_tokenizer

    shape = SIZES[size]
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
@SIZE
def train(tokens: Path, output: Path, start: Path | None, size: str, **given: Any) -> None:
    """Train target and draft on the folder TOKENS; write OUTPUT/target, OUTPUT/answers.jsonl and OUTPUT/draft."""
    import shutil

    import torch

    from engine.reference.training.run import train_reference_draft
    from engine.reference.training.settings import TrainingSettings
    from engine.reference.training.shapes import SIZES

    torch.manual_seed(1)
    torch.set_float32_matmul_precision("high")
    corpus = numpy.load(tokens / "corpus.npz")
    if start is None:
        _make_target(tokens, corpus, output, SIZES[size], given["target_seconds"], given["batch"])
    else:
        shutil.copytree(start / "target", output / "target")
    _write_answers(corpus, output, SIZES[size], given)
    result = train_reference_draft(
        TrainingSettings(
            data=(output / "answers.jsonl",),
            output=output / "training",
            target=output / "target",
            seconds=given["draft_seconds"],
            batch=given["batch"],
            max_length=given["answer_length"],
            learning_rate=given["draft_rate"],
            draft_vocab_size=SIZES[size].draft_vocabulary,
            held_out=0.02,
            log_every=200,
            start=start / "draft" if start else None,
        ),
        _say,
    )
    shutil.copytree(result.checkpoint, output / "draft", ignore=shutil.ignore_patterns("training_state.pt"))


def _make_target(tokens: Path, corpus: Any, output: Path, shape: Shape, seconds: float, batch: int) -> None:
    import shutil

    from engine.reference.training.export import save_target
    from engine.reference.training.target_training import train_target

    talk = corpus["chats"]
    split = len(talk) - min(HELD_BACK_TOKENS, len(talk) // 10)
    target, figures = train_target([corpus["files"], talk[:split]], talk[split:], shape, seconds, batch, _say)
    shutil.copytree(tokens / "tokenizer", output / "target", dirs_exist_ok=True)
    save_target(target, output / "target", shape)
    (output / "target" / "training.json").write_text(json.dumps(figures, indent=2) + "\n")


def _write_answers(corpus: Any, output: Path, shape: Shape, given: dict[str, Any]) -> None:
    from engine.reference.training.export import read_target

    device = _device()
    target = {name: tensor.to(device) for name, tensor in read_target(output / "target").items()}
    with (output / "answers.jsonl").open("wb") as stream:
        for tokens, answers in _answers(
            corpus, target, shape, given["answer_rounds"], given["answer_rows"], given["answer_length"]
        ):
            row = {"input_ids": tokens.tolist(), "loss_mask": answers.astype(int).tolist()}
            stream.write(msgspec.json.encode(row) + b"\n")


def _device() -> str:
    import torch

    return "cuda" if torch.cuda.is_available() else "cpu"


def _answers(corpus: Any, target: Any, shape: Shape, rounds: int, rows: int, length: int) -> Iterator[tuple[Any, Any]]:
    """Tokens and marks of each answer: a quarter goes on with plain source, half is drawn at temperature 1."""
    import torch

    from engine.reference.training.answers import answered, marked

    device = _device()
    prompts = torch.from_numpy(corpus["prompts"].astype(numpy.int64)).to(device)
    lengths = torch.from_numpy(corpus["lengths"]).to(device)
    files = torch.from_numpy(corpus["files"].astype(numpy.int32)).to(device)
    temperatures = torch.arange(rows, device=device) % 2 * 1.0
    plain = torch.arange(rows, device=device) < rows // 4
    for number in range(rounds):
        chosen = torch.randint(0, len(prompts), (rows,), device=device)
        starts = torch.randint(0, len(files) - LONGEST_PROMPT, (rows, 1), device=device)
        windows = files[starts + torch.arange(LONGEST_PROMPT, device=device)].long()
        asked = torch.where(plain[:, None], windows, prompts[chosen])
        cut = torch.where(plain, torch.randint(8, 96, (rows,), device=device), lengths[chosen])
        tokens = answered(target, asked, cut, length, temperatures, shape)
        yield from marked(tokens.cpu().numpy(), cut.cpu().numpy())
        _say(f"answers: round {number + 1} of {rounds}")


_BEGAN = time.monotonic()


def _say(text: str) -> None:
    click.echo(f"{time.monotonic() - _BEGAN:6.1f} s  {text}")


if __name__ == "__main__":
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "true")
    training(prog_name="python -m engine.reference.training")
