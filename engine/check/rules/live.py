"""A running server against what it should be."""

import re
from collections.abc import Iterator
from typing import Any

from engine.check.facts.deployment import Facts
from engine.check.live import release_of
from engine.check.records import Evidence, Fix
from engine.check.rules.registry import Detail, rule

ONE = 1.05
ENOUGH_VERIFICATIONS = 200
ENOUGH_TOKENS = 1000
THRESHOLD = "speculative_accept_threshold"
COMPARED = (
    "speculative_algorithm", "speculative_num_steps", "speculative_eagle_topk", "speculative_num_draft_tokens",
    "speculative_accept_threshold_single", "speculative_accept_threshold_acc",
)  # fmt: skip


@rule(
    "live-unreachable",
    "error",
    "The server does not answer, or not as SGLang does",
    explanation="Nothing could be read from the running server; what was tried stands in the message.",
    source="sglang 0.5.23, entrypoints/http_server.py",
    framework="any",
)
def live_unreachable(facts: Facts) -> Iterator[Detail]:
    """What was tried."""
    live = facts.deployment.live
    if live is not None and live.problem is not None:
        yield Detail(
            f"{live.problem}.",
            (Evidence(what=live.url, found=live.problem),),
            Fix(text="check the URL, and that the server is up"),
        )


@rule(
    "live-flag-differs",
    "error",
    "The running server has other speculative flags",
    explanation="What runs is not the command under check: it was started with another one, or changed since.",
    source="sglang 0.5.23, /server_info",
)
def live_flag_differs(facts: Facts) -> Iterator[Detail]:
    """Resolved values against the command's."""
    info = _info(facts)
    if not info or facts.deployment.launch is None or facts.named_algorithm is None:
        return
    different = []
    for name in COMPARED:
        if name.startswith(THRESHOLD) and facts.given(name) is None:
            continue  # changed while it runs: `lossy-acceptance` tells
        wanted, found = _expected(facts, name), info.get(name)
        if name == "speculative_algorithm":
            found = "EAGLE" if isinstance(found, str) and found.upper() == "NEXTN" else found
            found = found.upper() if isinstance(found, str) else found
        if wanted is not None and name in info and found is not None and wanted != found:
            different.append(Evidence(what=_said(facts, name), expected=str(wanted), found=str(found)))
    if different:
        words = "; ".join(f"{one.what.split(': ')[-1]} is {one.found}, not {one.expected}" for one in different)
        yield Detail(f"{words}.", tuple(different), Fix(text="restart the server with the command under check"))


@rule(
    "live-speculation-off",
    "error",
    "A draft was asked for, and the server runs without speculation",
    explanation="The server reports no algorithm, or wrote much without a verification: a missing --speculative-algorithm, an "
    "unread --config=FILE, or an old process.",
    source="sglang 0.5.23, /server_info",
)
def live_speculation_off(facts: Facts) -> Iterator[Detail]:
    """No algorithm in what it reports."""
    info = _info(facts)
    asked = facts.named_algorithm is not None or facts.draft_path is not None
    off = "speculative_algorithm" in info and info["speculative_algorithm"] in (None, "", "NONE")
    if off and asked and facts.deployment.launch is not None:
        evidence = Evidence(
            what=_said(facts, "speculative_algorithm"),
            expected=facts.named_algorithm or "an algorithm",
            found="none",
        )
        yield Detail(
            "The server reports no speculative algorithm.",
            (evidence,),
            Fix(text="restart it with --speculative-algorithm"),
        )
    elif not off and info.get("speculative_algorithm") and _never_verified(facts):
        yield Detail(
            f"It names {info['speculative_algorithm']}, but wrote over {ENOUGH_TOKENS} tokens without one verification.",
            (Evidence(what=_said(facts, "avg_spec_accept_length"), expected="a number", found="absent"),),
            Fix(text="look for its draft in its log, and restart it"),
        )


@rule(
    "live-model-differs",
    "error",
    "The running server serves other models",
    explanation="Target or draft, or the revision of one, are not those of the command under check.",
    source="sglang 0.5.23, /server_info and /model_info",
)
def live_model_differs(facts: Facts) -> Iterator[Detail]:
    """Paths compared as text, and by their last part where one of them is a folder of a container."""
    info = {**(facts.deployment.live.model_info or {} if facts.deployment.live else {}), **_info(facts)}
    if facts.deployment.launch is None:
        return
    for name, role in (("model_path", "target"), ("speculative_draft_model_path", "draft")):
        wanted, found = facts.get(name), info.get(name)
        if isinstance(wanted, str) and isinstance(found, str) and _last(wanted) != _last(found):
            yield Detail(
                f"The {role} is {found}, not {wanted}.",
                (Evidence(what=_said(facts, name), expected=wanted, found=found),),
                Fix(text="restart the server with the command under check"),
            )
    for name in ("revision", "speculative_draft_model_revision"):
        asked, found = facts.given(name), info.get(name)
        if asked is not None and asked.value is not None and isinstance(found, str) and found != asked.value:
            yield Detail(
                f"{name} is {found}, not {asked.value}.",
                (Evidence(what=_said(facts, name), expected=str(asked.value), found=found),),
                Fix(text="restart the server with the command under check"),
            )


@rule(
    "live-accept-length-one",
    "error",
    "Accept length is 1.0: no draft token is accepted",
    explanation="Speculation runs, and nothing that the draft proposes is accepted: slower than no speculation. Causes: the EAGLE "
    "flag with an EAGLE-3 draft, a skipped fc, missing tensors, a missing vocabulary map, a tied head, other layers than trained.",
    source="sglang 0.5.23, /server_info avg_spec_accept_length; sglang pull 21272; measured on an H200",
)
def live_accept_length_one(facts: Facts) -> Iterator[Detail]:
    """Over enough verifications, where their number is known."""
    length, info = accept_length(facts), _info(facts)
    live = facts.deployment.live
    if length is None or length >= ONE or live is None or not info.get("speculative_algorithm", "not told"):
        return
    if live.verifications is not None and live.verifications < ENOUGH_VERIFICATIONS:
        return
    cause = ""
    if facts.draft.is_eagle3 and str(info.get("speculative_algorithm")).upper() in ("EAGLE", "NEXTN"):
        cause = ": EAGLE flag with an EAGLE-3 draft"
    count = f" over {live.verifications} verifications" if live.verifications is not None else ""
    yield Detail(
        f"Accept length {length:.2f}{count}{cause}.",
        (Evidence(what=_said(facts, "avg_spec_accept_length"), expected=f"above {ONE}", found=f"{length:.3f}"),),
        Fix(text="put right what the other findings name, then restart"),
    )


@rule(
    "live-accept-length-low",
    "warning",
    "Accept length is under the break-even",
    explanation="By the last benchmark of this pair, speculation is slower than the baseline at this accept length.",
    source="the last benchmark",
)
def live_accept_length_low(facts: Facts) -> Iterator[Detail]:
    """Where a benchmark gave the break-even."""
    length, needed = accept_length(facts), facts.deployment.break_even_accept_length
    if length is not None and needed is not None and ONE <= length < needed:
        yield Detail(
            f"Accept length {length:.2f}; speculation pays from {needed:.2f} on.",
            (Evidence(what=_said(facts, "avg_spec_accept_length"), expected=f"{needed:.2f}", found=f"{length:.2f}"),),
        )


@rule(
    "live-hidden-width",
    "error",
    "The measured width of hidden states contradicts the config",
    explanation="The server returned hidden states of another width than the target's config gives.",
    source="sglang 0.5.17 on an H200: return_hidden_states gave 3 x hidden size under EAGLE3; final states in other releases",
)
def live_hidden_width(facts: Facts) -> Iterator[Detail]:
    """Neither the final states' width nor the captured one."""
    live, hidden = facts.deployment.live, facts.target.hidden_size
    if live is None or live.hidden_width is None or hidden is None:
        return
    allowed = {hidden, *([facts.handed_width] if facts.handed_width else [])}
    if live.hidden_width not in allowed:
        expected = " or ".join(map(str, sorted(allowed)))
        evidence = Evidence(what="return_hidden_states: width", expected=expected, found=str(live.hidden_width))
        yield Detail(
            f"{live.hidden_width} wide; the config gives {expected}.",
            (evidence,),
            Fix(text="the server runs another model than the config's"),
        )


def _said(facts: Facts, name: str) -> str:
    """Where a figure of the server stands."""
    live = facts.deployment.live
    return f"{'/server_info' if live is None or '://' in live.url else live.url}: {name}"


def accept_length(facts: Facts) -> float | None:
    """By `/server_info`, mean over ranks; else by the gauge of `/metrics`."""
    states = _info(facts).get("internal_states")
    found = [
        float(state["avg_spec_accept_length"])
        for state in (states if isinstance(states, list) else [])
        if isinstance(state, dict) and isinstance(state.get("avg_spec_accept_length"), int | float)
    ]
    if found:
        return sum(found) / len(found)
    text = facts.deployment.live.metrics if facts.deployment.live is not None else None
    gauges = [
        float(v)
        for v in re.findall(r"^sglang:spec_accept_length(?:\{[^}]*\})? ([0-9.eE+-]+)$", text or "", re.MULTILINE)
    ]
    gauges = [value for value in gauges if value > 0]
    return sum(gauges) / len(gauges) if gauges else None


def _never_verified(facts: Facts) -> bool:
    """Whether much was written and nothing drafted; a prefill node verifies nothing."""
    live = facts.deployment.live
    if live is None or live.metrics is None or live.verifications or accept_length(facts) is not None:
        return False
    written = re.findall(r"^sglang:generation_tokens_total(?:\{[^}]*\})? ([0-9.eE+]+)$", live.metrics, re.MULTILINE)
    return sum(map(float, written)) > ENOUGH_TOKENS and _info(facts).get("disaggregation_mode") != "prefill"


def _info(facts: Facts) -> dict[str, Any]:
    live = facts.deployment.live
    return dict(live.server_info or {}) if live is not None else {}


def _expected(facts: Facts, name: str) -> Any:
    if name == "speculative_algorithm":
        return facts.algorithm
    live = facts.deployment.live
    if live is None or (release_of(live) is None and facts.get("speculative_num_steps") is None):
        return facts.get(name)  # what a stand-in chooses where it is left to the server is its own affair
    if name == "speculative_num_draft_tokens" and facts.top_k == 1 and facts.num_steps is not None:
        return facts.num_steps + 1
    tree = {"speculative_num_steps": facts.num_steps, "speculative_eagle_topk": facts.top_k}
    return tree.get(name) if name in tree else facts.get(name)


def _last(path: str) -> str:
    """The last part of a path; of a snapshot in the hub's cache, the repository's name."""
    cached = re.search(r"models--(?:[^/]*--)?([^/]+)/snapshots/", path)
    return cached[1] if cached else path.rstrip("/").rsplit("/", 1)[-1]
