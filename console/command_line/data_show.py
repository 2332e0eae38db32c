"""`alula data show`: what a source looks like, and what becomes of its records."""

from typing import TYPE_CHECKING, Any

import click
import msgspec

from console.command_line.data_options import json_option, leave, mapping_of
from console.command_line.live_view import to_json
from state.outside_text import plain_line, plain_text

if TYPE_CHECKING:
    from engine.data.show import Look

CELL = 110
LINES_SHOWN = 14


@click.command("show")
@click.argument("source")
@click.option("--config", help="Configuration of a hub data set.")
@click.option("--split", help="Split of a hub data set.")
@click.option("--revision", help="Commit, branch or tag of a hub data set.")
@click.option("--encoding", default="utf-8", show_default=True, help="Of text files.")
@click.option("--map", "pairs", multiple=True, metavar="ROLE=COLUMNS", help="Which columns hold what; see below.")
@click.option("--samples", default=2, show_default=True, type=click.IntRange(0, 100), help="Records to show.")
@json_option
def show_source(
    source: str,
    config: str | None,
    split: str | None,
    revision: str | None,
    encoding: str,
    pairs: tuple[str, ...],
    samples: int,
    as_json: bool,
) -> None:
    """Recognise the shape of SOURCE (a file, or OWNER/NAME of the hub) and show records before and after.

    A role of --map is messages, prompt, system, id, language or licence. A prompt may be made of several columns
    (title+description) or of a template ('prompt=Complete this function:\\n\\n{prompt}').

    Exit code 0; 1 where the shape is not sure or no row can be used; 2 where the source cannot be read.

    Example: alula data show open-r1/codeforces --split train --map prompt=description+examples
    """
    from engine.data.records import SourceError
    from engine.data.show import look_at
    from engine.data.sources.rows import named_source

    mapping = mapping_of(pairs, as_json=as_json)
    try:
        look = look_at(named_source(source, config, split, revision, encoding), mapping, samples)
    except SourceError as error:
        leave(plain_line(str(error)), error.remedy, as_json=as_json)
    click.echo(to_json(look) if as_json else "\n".join(look_lines(look)))
    raise SystemExit(0 if look.guess.sure and look.usable else 1)


def look_lines(look: "Look") -> list[str]:
    """A look in lines for people; text from outside is made harmless."""
    guess = look.guess
    lines = [f"{plain_line(look.source.label)}: {guess.shape or 'no known shape'}"]
    lines += [f"  {plain_line(reason)}" for reason in guess.why]
    mapped = [f"{role}={plain_line(spec)}" for role, spec in msgspec.to_builtins(guess.mapping).items()]
    lines += [f"  mapping   {'  '.join(mapped) or 'none'}"]
    lines += [
        f"  columns   {plain_line(', '.join(f'{name} ({kind})' for name, kind in look.columns.items()), 1000)}",
        f"  usable    {look.usable} of {look.usable + sum(look.unusable.values())} rows looked at",
    ]
    lines += [f"  left out  {count} {reason}" for reason, count in sorted(look.unusable.items())]
    if look.first_bad:
        lines.append(f"  first     {plain_line(look.first_bad, 200)}")
    for number, sample in enumerate(look.samples, 1):
        lines += ["", f"sample {number}, before"]
        lines += [f"  {plain_line(name, 40)}: {_cell(value)}" for name, value in sample.before.items()]
        lines += [f"sample {number}, after", *_after(sample.after)]
    return lines


def _cell(value: Any) -> str:
    text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    line = plain_line(text, CELL + 1)
    return line if len(line) <= CELL else f"{line[:CELL]}…"


def _after(after: Any) -> list[str]:
    if isinstance(after, str):
        return [f"  {plain_line(after)}"]
    lines: list[str] = []
    for message in after.messages:
        found = plain_text(message.content).split("\n")
        shown = [line[:CELL] for line in found[:LINES_SHOWN]]
        rest = [f"… {len(found) - LINES_SHOWN} more lines"] if len(found) > LINES_SHOWN else []
        lines += [f"  [{message.role}]", *(f"    {line}" for line in [*shown, *rest])]
    return lines
