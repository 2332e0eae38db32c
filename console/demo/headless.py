"""The demonstration in plain text: for a terminal that is none, for a pipe, for a test."""

import time

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from console.demo.campaign import FAULTY, MENDED, PROMPTS, RUN_NAME, Campaign, Summary
from console.demo.commands import CommandFailed
from state.outside_text import plain_line

LOOK_S = 0.5


def run_headless(campaign: Campaign) -> Summary:
    """Play the whole story; returns what it measured.

    Raises:
        CommandFailed: A step did not do what it should.
    """
    began = time.monotonic()
    say = campaign.commands.say
    say("1. A server is started with the flag EAGLE, and its draft is an EAGLE-3 one. Nothing fails.\n")
    faulty = campaign.start_server(FAULTY, "EAGLE")
    bad = campaign.measure(faulty)
    say(f"   accept length {bad:.2f}: no draft token is accepted\n")
    say("2. What does the checker say?\n")
    say(_first_lines(campaign.commands.run("check", "--server", faulty, allowed=(0, 1)), 24))
    errors = [one["rule"] for one in campaign.findings(faulty) if one["severity"] == "error"]
    if "eagle-flag-on-eagle3-draft" not in errors:
        raise CommandFailed(f"the checker did not find the fault; it found {errors}")
    campaign.stop_server(FAULTY)
    say("\n3. The same draft with the right flag, on the same prompts.\n")
    mended = campaign.start_server(MENDED, "EAGLE3")
    good = campaign.measure(mended)
    left = [one["rule"] for one in campaign.findings(mended) if one["severity"] == "error"]
    if left:
        raise CommandFailed(f"the checker still finds {left}")
    say(f"   accept length {good:.2f}, and the checker finds no error\n")
    say(f"4. The target answers {PROMPTS} prompts of the standard library again, to train a better draft.\n")
    campaign.start_run(mended)
    progress = _follow(campaign)
    say("\n" + campaign.commands.run("regen", "verify", RUN_NAME))
    return Summary(
        accept_length_eagle=bad,
        accept_length_eagle3=good,
        finding=errors[0],
        answered=progress["done"],
        failed=progress["failed"],
        tokens=progress["completion_tokens"],
        tokens_per_s=progress["tokens_per_s_overall"],
        seconds=time.monotonic() - began,
    )


def print_summary(campaign: Campaign, summary: Summary) -> None:
    """The figures in a few lines."""
    speed = f"{summary.tokens_per_s:.0f} tokens/s" if summary.tokens_per_s else "–"
    say = campaign.commands.say
    say("Summary", bold=True)
    say(f"  EAGLE flag     accept length {summary.accept_length_eagle:.2f}   found by the rule {summary.finding}")
    say(f"  EAGLE3 flag    accept length {summary.accept_length_eagle3:.2f}   no error found")
    say(f"  regeneration   {summary.answered} answered, {summary.failed} failed, {summary.tokens} tokens, {speed}")
    say(f"  took           {summary.seconds:.0f} s")


def _follow(campaign: Campaign) -> dict[str, int]:
    columns = [TextColumn("   regenerating"), BarColumn(40), MofNCompleteColumn(), TimeRemainingColumn()]
    with Progress(*columns, disable=campaign.commands.quiet) as bar:
        task = bar.add_task("", total=PROMPTS)
        while True:
            found = campaign.status()
            progress = found["progress"] or {"done": 0, "failed": 0}
            bar.update(task, completed=progress["done"] + progress["failed"])
            if found["run"]["state"] == "done":
                return dict(progress)
            if found["run"]["state"] != "running":
                raise CommandFailed(
                    plain_line(f"the regeneration is {found['run']['state']}: {found['run']['message']}")
                )
            time.sleep(LOOK_S)


def _first_lines(text: str, count: int) -> str:
    lines = text.splitlines()
    return "\n".join(lines[:count] + ([f"   ... {len(lines) - count} lines more"] if len(lines) > count else []))
