"""`alula train forecast`: how far more data will carry a draft, and what it costs."""

import sys
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click
import msgspec

from console.command_line.live_view import to_json

if TYPE_CHECKING:
    from engine.campaign.recorded import Recorded
    from engine.train.forecast.records import DataPoint

FILE = click.Path(dir_okay=False, path_type=Path)


@click.command("forecast")
@click.argument("files", nargs=-1, type=FILE)
@click.option("--point", "written", multiple=True, help="SAMPLES:ACCEPT_LENGTH[:LOW:HIGH]. May be given several times.")
@click.option("--at", "amounts", multiple=True, type=float, help="What will so many samples give?")
@click.option("--to", "lengths", multiple=True, type=float, help="How much data does this accept length take?")
@click.option("--speedup", "speedups", multiple=True, type=float, help="And this speed-up?  [default: 1 and 1.5]")
@click.option("--break-even", type=float, help="Accept length from which on speculation pays.")
@click.option(
    "--measured",
    nargs=3,
    type=float,
    metavar="BASELINE SPEED LENGTH",
    help="Break-even from tokens/s without and with the draft, and its accept length.",
)
@click.option("--drafted", type=click.IntRange(1), help="Drafted tokens a round: num_draft_tokens - 1 of a chain.")
@click.option("--have", type=click.FloatRange(0), help="Samples that are ready; the largest point where not given.")
@click.option("--tokens-per-sample", type=click.FloatRange(0, min_open=True), help="Of an answer, on average.")
@click.option("--tokens-per-s", type=click.FloatRange(0, min_open=True), help="Measured speed of regeneration.")
@click.option("--campaign", help="Points that this campaign has measured.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def forecast(as_json: bool, **given: Any) -> None:
    """Fit measured points and foretell more data; refuse where they cannot tell.

    Without FILES and --point: what the newest campaign measured, else the trainings of one target, with break-even and
    the speed of regeneration as they were measured. FILES are CSV (samples,accept_length,low,high,label) or JSONL.
    Ranges hold 80 %. Exit code 0; 1 where a goal is out
    of reach by these points; 2 where they carry no forecast.

    Example: alula train forecast --point 880:1.7 --point 2640:1.9 --point 8800:2.1 --measured 90 82.3 2.1 --at 88088
    """
    from console.command_line.forecast_words import forecast_lines
    from engine.train.forecast.records import CannotForecast

    try:
        found = _forecast(given)
    except CannotForecast as error:
        _leave(str(error), error.remedy, as_json)
    click.echo(to_json(found) if as_json else "\n".join(forecast_lines(found)))
    sys.exit(1 if any(one.samples.value is None for one in found.needed) else 0)


def _forecast(given: dict[str, Any]) -> Any:
    from engine.train.forecast.forecasting import forecast as foretell
    from engine.train.forecast.reading import parse_point, read_points
    from engine.train.forecast.records import CannotForecast, Costs

    points = [parse_point(text) for text in given["written"]]
    for path in given["files"]:
        points += read_points(path)
    if points and given["campaign"]:
        raise CannotForecast("points and --campaign", "give one of them: points of both would not be alike")
    costs, drafted, amounts = Costs(), given["drafted"], list(given["amounts"])
    if not points:
        found = _recorded(given["campaign"])
        points, costs, drafted = list(found.points), found.costs, drafted or found.drafted
        amounts = amounts or _further(points)
    even = _break_even(given["break_even"], given["measured"])
    pace = _pace(given["tokens_per_sample"], given["tokens_per_s"])
    if even is not None:
        costs = msgspec.structs.replace(costs, break_even=even, break_even_error=0.0)
    return foretell(
        points,
        amounts=amounts,
        accept_lengths=given["lengths"],
        speedups=given["speedups"] or (1.0, 1.5),
        drafted=drafted,
        costs=msgspec.structs.replace(costs, samples_per_hour=pace or costs.samples_per_hour),
        have=given["have"],
    )


def _recorded(campaign: str | None) -> "Recorded":
    """What the database holds."""
    from engine.campaign.recorded import recorded
    from engine.train.forecast.records import CannotForecast
    from state.database import open_database
    from state.errors import StateError
    from state.folder import state_folder

    try:
        folder = state_folder()
        with closing(open_database(folder.database_path)) as database:
            return recorded(database, folder, campaign)
    except StateError as error:
        raise CannotForecast(str(error), error.remedy) from error


def _further(points: "list[DataPoint]") -> list[float]:
    """Twice, four and eight times the largest amount, as far as the points can speak of it."""
    from engine.train.forecast.limits import reach_of, sorted_points

    ordered = sorted_points(points, None)
    return [times * ordered[-1].samples for times in (2, 4, 8) if times * ordered[-1].samples <= reach_of(ordered)]


def _break_even(stated: float | None, measured: tuple[float, float, float] | None) -> float | None:
    from engine.bench.economics import Estimate, economics
    from engine.train.forecast.records import CannotForecast

    if stated is not None and stated < 1:
        raise CannotForecast(f"a break-even of {stated}", "an accept length counts the bonus token: 1 or more")
    if stated is not None or not measured:
        return stated
    try:
        return economics(*(Estimate(one) for one in measured)).round_cost.value
    except ValueError as error:
        raise CannotForecast(str(error), "give --measured BASELINE SPEED LENGTH, as 90 82.3 2.1") from error


def _pace(tokens_per_sample: float | None, tokens_per_s: float | None) -> float | None:
    return 3600 * tokens_per_s / tokens_per_sample if tokens_per_sample and tokens_per_s else None


def _leave(message: str, remedy: str, as_json: bool) -> NoReturn:
    if as_json:
        click.echo(to_json({"error": message, "remedy": remedy}))
    else:
        click.echo(f"alula train: {message}\n{remedy}", err=True)
    sys.exit(2)
