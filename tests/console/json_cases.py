"""For each command with `--json`: words that make it print each of its forms. `{...}` are what `lived_in` made."""

from typing import NamedTuple


class Case(NamedTuple):
    """A command, what follows it, and the form that it prints."""

    command: str
    words: str = ""
    when: str = ""
    codes: tuple[int, ...] = (0,)


CASES = (
    Case("alerts", "--all", codes=(0, 1)),
    Case("alerts ack", "{alert}"),
    Case("check", "{launch}", codes=(0, 1)),
    Case("check", "--list-rules", "--list-rules"),
    Case("check", "--explain fc-bypassed", "--explain RULE"),
    Case("probe", "{server} --prompts 1 --max-tokens 8"),
    Case("doctor", codes=(0, 1)),
    Case("gpus"),
    Case("servers"),
    Case("servers add", "http://127.0.0.1:9"),
    Case("servers remove", "http://127.0.0.1:9"),
    Case("status", codes=(0, 1)),
    Case("db path"),
    Case("db check"),
    Case("db backup"),
    Case("db prune"),
    Case("db recover"),
    Case("engine start"),
    Case("engine status"),
    Case("engine install", "--print"),
    Case("engine record", "{folder}/r.jsonl --seconds 1"),
    Case("reference paths"),
    Case("jobs launch", "-- echo hello"),
    Case("jobs launch", "sglang-server --dry-run model={target} python={python}", "--dry-run", codes=(0, 1)),
    Case("jobs list"),
    Case("jobs show", "{job}"),
    Case("jobs logs", "{job}"),
    Case("jobs metrics", "{job}"),
    Case("jobs retry", "{job}"),
    Case("jobs stop", "{job}"),
    Case("jobs recipes"),
    Case("jobs recipes", "sglang-server", "NAME"),
    Case("jobs secret list"),
    Case("jobs pause"),
    Case("jobs resume"),
    Case("jobs drain", "--timeout 0", codes=(0, 1)),
    Case("regen list"),
    Case("regen status", "{run_name}", codes=(1,)),
    Case("regen servers", "{run_name}"),
    Case("regen servers", "lived add {server} --weight 2", "add or remove"),
    Case("regen tune", "lived --concurrency 4"),
    Case("regen failures", "lived", codes=(1,)),
    Case("regen flaws", "lived", codes=(0, 1)),
    Case("regen export", "lived"),
    Case("regen verify", "lived"),
    Case("regen start", "{many} --server {server} --name second --max-tokens 64 --concurrency 1"),
    Case("regen pause", "second"),
    Case("regen resume", "{paused_run}"),
    Case("regen retry", "lived"),
    Case("bench run", "--server {server} --here {load} --name here", "--wait or --here"),
    Case("bench run", "--server {server} {load} --name lived"),
    Case("bench stop", "lived"),
    Case("bench show"),
    Case("bench show", "{bench}", "NAME"),
    Case("bench compare", "{bench}"),
    Case("bench export", "{bench} --output {folder}/out.csv"),
    Case("bench tune", "{sweep}"),
    Case("bench economics", "--baseline 90 --speculative 82.3 --accept-length 2.1"),
    Case("data show", "{prompts}"),
    Case("data plan", "--output {folder}/plan.toml --total 3"),
    Case("data prepare", "{plan} --output {folder}/mix --workers 1 --here", "--here"),
    Case("data prepare", "{plan} --output {folder}/mix-too --workers 1"),
    Case("data search", "--list", "--list"),
    Case("data search", "--offline", codes=(0, 2)),
    Case("data search", "--offline --job", "--job"),
    Case("campaign start", "{campaign} --dry-run", "--dry-run"),
    Case("campaign start", "{campaign}"),
    Case("campaign status", "lived"),
    Case("campaign status", "--all", "--all"),
    Case("campaign next", "lived"),
    Case("campaign document", "lived --output {folder}"),
    Case("campaign stop", "lived"),
    Case("campaign resume", "lived"),
    Case("campaign stop", "lived"),
    Case("campaign next", "lived --run", "--run"),
    Case("campaign stop", "lived"),
    Case("train config", "--target {target}"),
    Case("train forecast", "--point 1000:1.5 --point 2000:1.7 --point 4000:1.9 --point 8000:2.1", codes=(0, 1)),
    Case("train start", "--target {target} --data {conversations} --dry-run", codes=(0, 1)),
    Case("train status"),
)
"""In the order in which an operator might type them."""

ELSEWHERE = {
    "bench resume": "the same records as `bench run`",
    "bench sweep": "the same records as `bench run`",
    "demo": "prints its one record as it is; takes a minute",
    "engine stop": "ends the engine that the others need; held by the fixture's end",
    "train benchmark": "the same records as `bench run`",
    "train reference": "needs torch; prints its one record as it is",
}
"""Commands that are not called here, and why."""
