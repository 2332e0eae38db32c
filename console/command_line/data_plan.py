"""`alula data plan`: write a plan from the curated table of a search, or from the catalogue."""

from pathlib import Path
from typing import Any

import click

from console.command_line.data_options import json_option, leave
from console.command_line.live_view import to_json


@click.command("plan")
@click.option(
    "--from",
    "table",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Curated table (JSON) of a search; else the built-in catalogue.",
)
@click.option(
    "--output",
    default="plan.toml",
    show_default=True,
    type=click.Path(dir_okay=False, path_type=Path),
    help="File to write.",
)
@click.option("--name", default="campaign", show_default=True, help="Name of the campaign.")
@click.option("--total", type=click.IntRange(1), help="Records of the mix.")
@click.option("--present", type=click.IntRange(1), help="Records of the present set; with --times, the total follows.")
@click.option(
    "--times",
    default=10.0,
    show_default=True,
    type=click.FloatRange(0, min_open=True),
    help="So many times the present set.",
)
@click.option("--share", "shares", multiple=True, metavar="DOMAIN=PART", help="A domain's part of the total, 0 to 1.")
@click.option("--target", default="", help="Name of the target model.")
@click.option("--tokenizer", help="The target's tokenizer.json, a folder with it, or OWNER/NAME.")
@click.option("--benchmark", "benchmarks", multiple=True, help="Benchmark in use: a file, or a name such as humaneval.")
@click.option("--seed", default=0, show_default=True, help="Of the mix.")
@click.option("--force", is_flag=True, help="Write over a file that is there.")
@click.option(
    "--document",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="PLAN",
    help="Write train_plan_vN.md about this plan beside it, and nothing else.",
)
@click.option("--tokens-per-s", type=click.FloatRange(0, min_open=True), help="For the document: speed of the target.")
@click.option("--answer-tokens", type=click.FloatRange(0, min_open=True), help="For the document: of an answer.")
@click.option("--gpus", type=click.IntRange(1), help="For the document: GPUs of the target.")
@click.option("--price", type=click.FloatRange(0), help="For the document: of a GPU hour.")
@click.option("--currency", default="", help="Of the price.")
@json_option
def write_plan(
    table: Path | None,
    output: Path,
    name: str,
    total: int | None,
    present: int | None,
    times: float,
    shares: tuple[str, ...],
    target: str,
    tokenizer: str | None,
    benchmarks: tuple[str, ...],
    seed: int,
    force: bool,
    document: Path | None,
    as_json: bool,
    **page: Any,
) -> None:
    """Write a plan for a campaign's data. Sets that are benchmarks, or not kept, are left out.

    With --document it tells about a plan that is there: what, why, counts, times and costs, from the recorded state.
    Each document has its own number; none is written over.

    Example: alula data plan --present 8800 --times 10 --benchmark humaneval --tokenizer /models/target

    Example: alula data plan --document plan.toml --gpus 8 --price 2.5 --currency USD
    """
    if document is not None:
        from console.command_line.data_document import write_page

        write_page(document, **page, as_json=as_json)
        return
    from engine.data.discovery.table import TableError, read_table
    from engine.data.plan.records import PlanError, Target
    from engine.data.plan.writing import plan_of, save_plan

    if output.exists() and not force:
        leave(f"{output} is there already", "give another --output, or --force", as_json=as_json)
    whole = total if total is not None else (round(present * times) if present else None)
    try:
        sets = read_table(table)
        plan = plan_of(
            sets,
            name=name,
            total=whole,
            target=Target(model=target, tokenizer=tokenizer),
            benchmarks=benchmarks,
            shares=_parts(shares, {one.domain for one in sets if one.kept}, as_json),
            seed=seed,
        )
        save_plan(plan, output)
    except (PlanError, TableError) as error:
        leave(str(error), error.remedy, as_json=as_json)
    if as_json:
        click.echo(to_json({"file": str(output), "plan": plan}))
    else:
        click.echo(f"{len(plan.source)} sources in {output}\nalula data prepare {output}")


def _parts(shares: tuple[str, ...], domains: set[str], as_json: bool) -> dict[str, float]:
    found: dict[str, float] = {}
    for share in shares:
        domain, _, part = share.rpartition("=")
        try:
            found[domain] = float(part)
        except ValueError:
            found[domain] = -1.0
        if not domain or not 0 <= found[domain] <= 1:
            leave(f"--share {share}", "write DOMAIN=PART with a part of 0 to 1", as_json=as_json)
        if domain not in domains:
            leave(
                f"--share {share}: no kept set is of that domain",
                f"there are {', '.join(sorted(domains)) or 'none'}",
                as_json=as_json,
            )
    if sum(found.values()) > 1 + 1e-9:
        leave("the shares come to more than 1", "leave room, or give parts that come to 1", as_json=as_json)
    return found
