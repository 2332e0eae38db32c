"""Writes the finished data: conversations as SpecForge reads them, or rows of tokens, each with a manifest."""

from contextlib import ExitStack
from pathlib import Path

import msgspec

from engine.regen.joined import Joined
from engine.regen.manifest import (
    CONVERSATIONS,
    MANIFEST,
    REJECTED,
    ExportedFile,
    Manifest,
    beside,
    held_out_path,
    make_manifest,
)
from engine.regen.records import Plan
from engine.regen.selection import ExportOptions, Side
from engine.regen.tokens.parquet import RowWriter
from engine.regen.tokens.tokenizer import TokenizerError, load_tokenizer, tokenizer_sha256
from engine.regen.whole import Whole
from engine.regen.whole_file import WholeFile, write_whole


def export_run(folder: Path, plan: Plan, output: Path | None = None, options: ExportOptions | None = None) -> Manifest:
    """Write all answers, with the manifest and the rejected records beside them.

    Args:
        folder: The run folder, or a fleet's.
        plan: Its plan.
        output: The file, which appears whole or not at all; `conversations.jsonl` in the run folder where not given.
            A name that ends in `.parquet` asks for token rows.
        options: What to leave out, keep apart and join.

    Raises:
        ValueError: A stored answer is damaged, or the output is an input of the run.
        TokenizerError: There is none, or it cannot be used.
        OSError: A file cannot be read or written.
    """
    target, options = output or folder / CONVERSATIONS, options or ExportOptions()
    if str(target.absolute()) in {*plan.inputs, *options.native}:
        raise ValueError(f"{target} is an input of the run, and would be overwritten")
    parquet = target.suffix == ".parquet"
    store = Whole(folder)
    try:
        if parquet:
            options = msgspec.structs.replace(options, tokenizer=str(tokenizer_folder(store, plan, options)))
        joined = Joined(store, options)
        files = _write_rows(joined, target, options) if parquet else _write_lines(joined, target, options)
        rejected = (msgspec.json.encode(one) + b"\n" for one in (*store.rejections(), *joined.rejections))
        write_whole(beside(folder, target, REJECTED), rejected)
        manifest = make_manifest(
            plan, store, files=files, options=options, left_out=dict(joined.left_out), native=joined.native,
            tokenizer_sha256=tokenizer_sha256(Path(options.tokenizer)) if parquet and options.tokenizer else None,
        )  # fmt: skip
        write_whole(beside(folder, target, MANIFEST), [msgspec.json.format(msgspec.json.encode(manifest), indent=2)])
        return manifest
    finally:
        store.close()


def tokenizer_folder(store: Whole, plan: Plan, options: ExportOptions) -> Path:
    """Where the target's tokenizer lies: as given, as the run was asked in, or the server's own folder if it is here.

    Raises:
        TokenizerError: Nowhere.
    """
    known = store.known()
    served = known.reference.flags.get("model_path") if known else None
    for found in (options.tokenizer, plan.tokenizer, served):
        if isinstance(found, str) and Path(found).is_dir():
            return Path(found).absolute()
    raise TokenizerError("Parquet needs the target's tokenizer", "give its folder: --tokenizer FOLDER")


def _sides(target: Path, options: ExportOptions) -> dict[Side, Path]:
    return {"train": target, **({"held_out": held_out_path(target)} if options.held_out else {})}


def _write_lines(joined: Joined, target: Path, options: ExportOptions) -> dict[Side, ExportedFile]:
    with ExitStack() as opened:
        files = {side: opened.enter_context(WholeFile(path)) for side, path in _sides(target, options).items()}
        rows = dict.fromkeys(files, 0)
        for side, line in joined.lines():
            files[side].stream.write(line)
            rows[side] += 1
        return {
            side: ExportedFile(file=str(file.path), sha256=file.commit(), rows=rows[side])
            for side, file in files.items()
        }


def _write_rows(joined: Joined, target: Path, options: ExportOptions) -> dict[Side, ExportedFile]:
    tokenizer = load_tokenizer(Path(options.tokenizer or ""))
    with ExitStack() as opened:
        files = {side: opened.enter_context(WholeFile(path)) for side, path in _sides(target, options).items()}
        writers = {side: RowWriter(file.stream) for side, file in files.items()}
        for side, row in joined.rows(tokenizer):
            writers[side].write(row)
        found = {}
        for side, writer in writers.items():
            writer.close()
            file = files[side]
            found[side] = ExportedFile(
                file=str(file.path), sha256=file.commit(), rows=writer.rows, tokens=writer.tokens,
                loss_tokens=writer.loss_tokens,
            )  # fmt: skip
        return found
