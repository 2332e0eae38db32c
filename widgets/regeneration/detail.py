"""What a regeneration's worker told of servers, sources, slow samples and failures, as lines."""

from collections.abc import Mapping
from pathlib import Path

from textual.content import Content

from state.outside_text import plain_line
from state.records.regeneration import RegenerationDetail, RegenerationServer, SlowSample, SourceProgress
from state.records.views import RegenerationRow
from widgets import figures
from widgets.bar import bar
from widgets.line import aligned, cut

SERVER_STYLES = {"asked": "$success", "away": "bold $error", "overloaded": "$warning", "leaving": "$text-muted"}
BAR_CELLS = 16
NAME_CELLS = 28


def detail_lines(row: RegenerationRow, remedies: Mapping[str, str], width: int) -> list[Content]:
    """Servers, sources, slowest, failures, each under its heading; what is empty is left out.

    Args:
        row: The run.
        remedies: Kind of failure to what to do about it.
        width: Cells; what is longer is cut.
    """
    lines = _failures(row, remedies, width)
    detail = row.detail
    if detail is None:
        return lines
    if row.run.state == "running":
        lines += _headed("Servers, in flight/at most", [line for one in detail.servers for line in _server(one, width)])
        lines += _headed("Slowest in flight", [_slow(one, width) for one in detail.slowest])
    return [*lines, *_headed("Sources", _sources(detail, width))]


def _headed(title: str, lines: list[Content]) -> list[Content]:
    return [Content.styled(f" {title}", "bold"), *lines, Content("")] if lines else []


def _failures(row: RegenerationRow, remedies: Mapping[str, str], width: int) -> list[Content]:
    kinds = row.progress.failed_by_kind if row.progress else {}
    lines = []
    for kind, count in sorted(kinds.items(), key=lambda item: -item[1]):
        words = plain_line(f"  ! {figures.count(count):>6} {kind}", 60)
        lines.append(cut(Content.assemble((words, "$error"), f"  {remedies.get(kind, '')}"), width))
    return _headed("Failed: f asks them again, alula regen failures shows an example of each", lines)


def _server(one: RegenerationServer, width: int) -> list[Content]:
    url = aligned(plain_line(one.url, 120), max(24, min(44, width - 76)))
    failed = f", {figures.count(one.failed)} failed" if one.failed else ""
    first = Content.assemble(
        "  ", (f"{one.state:<10}", SERVER_STYLES.get(one.state, "")), " ", url,
        f"  {one.in_flight:>4}/{one.concurrency:<4}  weight {one.weight:g}  "
        f"{figures.rate(one.tokens_per_s)}  {figures.count(one.answered)} answered{failed}",
    )  # fmt: skip
    why = "; ".join(words for words in (one.message, one.decision) if words)
    second = Content.styled(f"             {plain_line(why, 300)}", "$warning" if one.message else "$text-muted")
    return [cut(first, width), *([cut(second, width)] if why else [])]


def _slow(one: SlowSample, width: int) -> Content:
    return cut(Content(f"  {figures.duration(one.seconds):>10}  {plain_line(one.id, 200)}"), width)


def _sources(detail: RegenerationDetail, width: int) -> list[Content]:
    tokens = sum(source.completion_tokens for source in detail.sources)
    return [_source(source, tokens, width) for source in detail.sources]


def _source(one: SourceProgress, all_tokens: int, width: int) -> Content:
    ended = one.done + one.failed
    share = ended / one.total * 100 if one.total else None
    line = Content("  ") + aligned(plain_line(Path(one.name).name, 80), NAME_CELLS) + Content(" ")
    line += bar(share, BAR_CELLS, "$success", figures.percent(share, 1))
    of_tokens = figures.share(one.completion_tokens / all_tokens if all_tokens else None)
    line += Content(f" {figures.count(ended)}/{figures.count(one.total)}  {of_tokens} of all tokens")
    for kind, count in sorted(one.flaws.items(), key=lambda item: -item[1]):
        line += Content.styled(plain_line(f"  {figures.count(count)} {kind}", 60), "$warning")
    return cut(line, width)
