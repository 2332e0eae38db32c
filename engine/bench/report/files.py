"""Exports of a comparison: Markdown, CSV, JSONL and one HTML file that needs nothing else."""

import csv
import io
import time
from collections.abc import Callable, Sequence
from html import escape
from pathlib import Path

import msgspec

from engine.bench.comparison import Comparison, Row
from engine.bench.economics import Estimate
from engine.bench.records import BenchError, Provenance
from engine.bench.report.svg import Line, Mark, plot
from engine.bench.report.words import HEADINGS, foretold_rows, sentences, table, used_columns

FLAGS = (
    "speculative_algorithm", "speculative_num_steps", "speculative_eagle_topk", "speculative_num_draft_tokens",
    "speculative_draft_model_path", "max_running_requests", "mem_fraction_static", "disable_cuda_graph",
    "attention_backend", "dtype", "quantization", "tp_size", "dp_size", "disable_radix_cache", "page_size",
)  # fmt: skip
"""Of hundreds of resolved arguments, those that a reader looks for; all of them lie in the run folder."""
_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 70rem; margin: 2rem auto; padding: 0 1rem; color: #222;
  background: #fff } table { border-collapse: collapse; margin: 1rem 0; display: block; overflow-x: auto }
th, td { padding: .2rem .7rem; border-bottom: 1px solid #ccc; text-align: left; white-space: nowrap }
svg { max-width: 44rem; font: 12px system-ui, sans-serif } svg text { fill: currentColor }
.grid { stroke: currentColor; opacity: .15 } .level { stroke: currentColor; stroke-dasharray: 5 4; opacity: .6 }
@media (prefers-color-scheme: dark) { body { color: #ddd; background: #16181c } th, td { border-color: #444 } }
"""


def write_report(comparison: Comparison, path: Path) -> None:
    """Write it in the form that the file's name asks for.

    Raises:
        BenchError: No such form, or the file cannot be written.
    """
    form = FORMS.get(path.suffix.lower())
    if form is None:
        raise BenchError(f"no export is called {path.suffix or path.name}", f"name it {', '.join(FORMS)}")
    try:
        path.write_text(form(comparison))
    except OSError as error:
        raise BenchError(f"cannot write {path}: {error.strerror}", "give another --output") from error


def markdown(comparison: Comparison) -> str:
    """Table and sentences."""
    rows, shown = _shown(comparison)
    lines = [f"# {comparison.name}", "", _markdown_row([HEADINGS[place] for place in shown])]
    lines += [_markdown_row(["---"] * len(shown)), *map(_markdown_row, rows)]
    for foretold in comparison.foretold:
        lines += ["", f"Steps of `{foretold.draft}` under {foretold.load}:", ""]
        lines += [_markdown_row(["steps", "accept length", "c", "speed-up", ""]), _markdown_row(["---"] * 5)]
        lines += map(_markdown_row, foretold_rows(foretold))
    lines += ["", *(f"- {text}" for text in sentences(comparison)), "", "Measured on:", ""]
    lines += [f"- {name}: {_provenance_words(one)}" for name, one in comparison.provenance.items()]
    return "\n".join(lines) + "\n"


def comma_separated(comparison: Comparison) -> str:
    """One line for each configuration under each load, plain numbers."""
    stream = io.StringIO()
    rows = [_plain(row) for row in comparison.rows]
    writer = csv.DictWriter(stream, fieldnames=list(rows[0]) if rows else ["name"], lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return stream.getvalue()


def json_lines(comparison: Comparison) -> str:
    """One JSON object for each configuration under each load, with all that is known."""
    return "".join(msgspec.json.encode(row).decode() + "\n" for row in comparison.rows)


def html(comparison: Comparison) -> str:
    """A page with plots inside."""
    rows, shown = _shown(comparison)
    name = escape(comparison.name)
    parts = [f"<h1>{name}</h1>", _html_table([HEADINGS[place] for place in shown], rows)]
    parts.append("<ul>" + "".join(f"<li>{escape(text)}</li>" for text in sentences(comparison)) + "</ul>")
    for title, drawn in _plots(comparison):
        if drawn:
            parts.append(f"<h2>{escape(title)}</h2>{drawn}")
    for foretold in comparison.foretold:
        parts.append(f"<h2>Steps of {escape(foretold.draft)} under {escape(foretold.load)}</h2>")
        parts.append(_html_table(["steps", "accept length", "c", "speed-up", ""], foretold_rows(foretold)))
    parts.append("<h2>Measured on</h2>")
    for label, one in comparison.provenance.items():
        parts.append(f"<h3>{escape(label)}</h3>{_html_table(['', ''], _provenance_rows(one))}")
    made = time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime())
    parts.append(f"<p>Written by Alula on {made}. Intervals are 95 %, by resampling requests.</p>")
    head = f'<meta charset="utf-8"><title>{name}</title><style>{_STYLE}</style>'
    return f'<!doctype html><html lang="en"><head>{head}</head><body>{"".join(parts)}</body></html>\n'


FORMS: dict[str, Callable[[Comparison], str]] = {
    ".md": markdown,
    ".csv": comma_separated,
    ".jsonl": json_lines,
    ".html": html,
}


def _shown(comparison: Comparison) -> tuple[list[list[str]], list[int]]:
    rows = table(comparison)
    shown = used_columns(rows)
    return [[row[place] for place in shown] for row in rows], shown


def _markdown_row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _html_table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    head = "".join(f"<th>{escape(text)}</th>" for text in headings)
    body = "".join("<tr>" + "".join(f"<td>{escape(text)}</td>" for text in row) + "</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _plots(comparison: Comparison) -> list[tuple[str, str]]:
    by_name: dict[str, list[Row]] = {}
    for row in comparison.rows:
        if row.summary.load.concurrency is not None:
            by_name.setdefault(row.name, []).append(row)
    speeds = [Line(name, tuple(_speed_mark(row) for row in rows)) for name, rows in by_name.items()]
    ratios = [
        Line(name, tuple(_mark(row.summary.load.concurrency, row.ratio, row) for row in rows if row.ratio is not None))
        for name, rows in by_name.items()
    ]
    plots = [("Tokens a second", plot(speeds, "requests at once", "tokens/s of the whole server"))]
    plots.append(
        ("Ratio to the baseline", plot([one for one in ratios if one.marks], "requests at once", "ratio", level=1.0))
    )
    plots.append(("One user against all", plot(_fronts(by_name), "tokens/s of one user", "tokens/s of the server")))
    for foretold in comparison.foretold:
        marks = tuple(_mark(one.num_steps, one.speedup) for one in foretold.steps)
        title = f"Expected speed-up by steps, {foretold.load}"
        plots.append((title, plot([Line(Path(foretold.draft).name, marks)], "steps", "speed-up", level=1.0)))
    return plots


def _fronts(by_name: dict[str, list[Row]]) -> list[Line]:
    return [
        Line(
            name,
            tuple(
                Mark(row.summary.decode_tokens_per_s.value, row.summary.tokens_per_s.value, label=_label(row))
                for row in rows
                if row.summary.decode_tokens_per_s is not None and row.summary.tokens_per_s is not None
            ),
        )
        for name, rows in by_name.items()
    ]


def _speed_mark(row: Row) -> Mark:
    return _mark(row.summary.load.concurrency, row.summary.tokens_per_s or Estimate(0.0), row)


def _mark(x: int | None, estimate: Estimate, row: Row | None = None) -> Mark:
    label = _label(row) if row is not None else ""
    return Mark(float(x or 0), estimate.value, estimate.low, estimate.high, label)


def _label(row: Row) -> str:
    speed = row.summary.tokens_per_s
    return f"{row.name} {row.summary.load.name}: {speed.value:.1f} tok/s" if speed else row.name


def _plain(row: Row) -> dict[str, object]:
    summary = row.summary
    found: dict[str, object] = {"name": row.name, "load": summary.load.name, "void": row.void, "verdict": row.verdict}
    estimates = {
        "tokens_per_s": summary.tokens_per_s,
        "decode_tokens_per_s": summary.decode_tokens_per_s,
        "ratio": row.ratio,
        "accept_length": summary.accept_length,
        "round_cost": row.economics.round_cost if row.economics else None,
    }
    for name, estimate in estimates.items():
        found |= {name: None, f"{name}_low": None, f"{name}_high": None}
        if estimate is not None:
            found |= {name: estimate.value, f"{name}_low": estimate.low, f"{name}_high": estimate.high}
    for name, spread in (("ttft", summary.ttft_s), ("itl", summary.itl_s), ("e2e", summary.e2e_s)):
        for point in ("p50", "p95", "p99"):
            found[f"{name}_{point}_s"] = getattr(spread, point) if spread is not None else None
    found |= {"accept_rates": " ".join(f"{rate.value:.4f}" for rate in summary.accept_rates)}
    found |= {"power_w": summary.power_w, "tokens_per_joule": summary.tokens_per_joule}
    found |= {"memory_bytes": summary.memory_bytes, "requests": summary.requests}
    return found | {"failures": sum(summary.failures.values()), "best": row.best, "pareto": row.pareto}


def _provenance_words(one: Provenance) -> str:
    flags = ", ".join(f"{name} {one.server_info[name]}" for name in FLAGS if one.server_info.get(name) is not None)
    gpus = ", ".join(one.gpus) or "no GPU watched"
    return f"{one.framework or 'unknown server'} {one.version or ''}, {one.model}, {gpus}; {flags}"


def _provenance_rows(one: Provenance) -> list[list[str]]:
    rows = [["server", f"{one.framework or 'unknown'} {one.version or ''} at {one.url}"], ["model", one.model or "–"]]
    rows += [["endpoint", f"{one.api}, {'with' if one.templated else 'without'} a chat template"]]
    rows += [["GPUs", ", ".join(one.gpus) or "–"], ["driver", one.driver or "–"]]
    rows += [[name, str(one.server_info[name])] for name in FLAGS if one.server_info.get(name) is not None]
    rows += [[f"checkpoint {path}", digest] for path, digest in one.checkpoints.items()]
    rows += [["checker: errors", ", ".join(one.errors) or "none"], ["warnings", ", ".join(one.warnings) or "none"]]
    return [*rows, ["command", " ".join(one.command) or "–"], ["Alula", one.alula]]
