"""What the server's own argument parser refuses, overrides or drops."""

from collections.abc import Iterator

from engine.check.facts.deployment import ALGORITHMS, Facts
from engine.check.records import Evidence, Fix, FlagProblem
from engine.check.rules.registry import Detail, rule

UNREAD = "config_unread"


@rule(
    "flag-unknown",
    "error",
    "The server would refuse a flag",
    explanation="The flag does not exist in this release, its abbreviation fits several, or a value stands where no flag "
    "takes one. argparse prints its usage and the server does not start.",
    source="flag tables of the SGLang wheels 0.4.6 to 0.5.23",
)
def flag_unknown(facts: Facts) -> Iterator[Detail]:
    """Unknown, ambiguous or left-over words."""
    for problem in _problems(facts, "unknown", "ambiguous", "detached"):
        fix = _renamed(problem) if problem.nearest else None
        yield Detail(f"{problem.message}.", (_evidence(problem),), fix)


@rule(
    "flag-value-invalid",
    "error",
    "A flag's value is missing, of the wrong type, or no choice",
    explanation="argparse refuses the value and the server does not start.",
    source="flag tables of the SGLang wheels 0.4.6 to 0.5.23",
)
def flag_value_invalid(facts: Facts) -> Iterator[Detail]:
    """Values that argparse refuses; a wrong algorithm has rules of its own."""
    for problem in _problems(facts, "invalid", "missing_value"):
        name = facts.named_algorithm
        small = name is not None and name != name.upper() and name.upper() in ALGORITHMS
        own_rule = name is not None and not small and "algo" in problem.spelled and problem.kind == "invalid"
        if not own_rule:
            fix = Fix(text=f"did you mean {problem.nearest}?") if problem.nearest else None
            yield Detail(f"{problem.message}.", (_evidence(problem),), fix)


@rule(
    "flag-repeated",
    "warning",
    "A flag is given twice with different values",
    explanation="argparse takes the last one without a word.",
    source="Python's argparse",
)
def flag_repeated(facts: Facts) -> Iterator[Detail]:
    """The earlier value has no effect."""
    for flag in facts.arguments.flags.values() if facts.arguments is not None else ():
        others = [value for value in flag.repeated if value != flag.value]
        if others and not flag.unresolved:
            spelled = flag.spelled or flag.name
            yield Detail(
                f"{spelled} is given as {', '.join(map(str, others))} and then as {flag.value}: the last one holds.",
                (facts.flag(flag.name),),
                Fix(text="keep one of them"),
            )


@rule(
    "config-yaml-not-read",
    "error",
    "The configuration file is not read, or stops the start",
    explanation="--config=FILE is accepted and ignored: the file is merged only where --config and its file are two words. "
    "Keys with underscores, null integers and some actions in the file stop the start.",
    source="sglang 0.5.23, utils/server_args_config_parser.py, run on small files",
)
def config_yaml_not_read(facts: Facts) -> Iterator[Detail]:
    """Silently ignored, or refused."""
    for problem in _problems(facts, UNREAD, "config_invalid"):
        file = problem.spelled.partition("=")[2]
        words = {"--config": file} if file else {}
        fix = Fix(text="write --config and the file as two words", set_flags=words) if problem.kind == UNREAD else None
        yield Detail(f"{problem.message}.", (_evidence(problem),), fix)


@rule(
    "token-map-ignored",
    "warning",
    "The token map is ignored with EAGLE3",
    explanation="An EAGLE-3 draft brings its own map (d2t); --speculative-token-map serves EAGLE with FR-Spec.",
    source="sglang 0.5.23, speculative/eagle_worker_v2.py",
)
def token_map_ignored(facts: Facts) -> Iterator[Detail]:
    """A map that nobody reads."""
    if facts.algorithm == "EAGLE3" and facts.get("speculative_token_map"):
        yield Detail(
            "EAGLE3 takes its vocabulary map from the draft; this file is ignored.",
            (facts.flag("speculative_token_map"),),
            Fix(text="leave it away", drop_flags=("--speculative-token-map",)),
        )


@rule(
    "flag-ignored",
    "warning",
    "A speculative flag that this algorithm does not read",
    explanation="The server accepts the flag and does nothing with it.",
    source="sglang 0.5.23, arg_groups/speculative_hook.py",
)
def flag_ignored(facts: Facts) -> Iterator[Detail]:
    """Flags of another algorithm."""
    if facts.algorithm is None:
        return
    for flag in facts.speculative_flags():
        if flag.value in (None, False):
            continue
        reason = _ignored_because(facts, flag.name)
        if reason is not None:
            spelled = flag.spelled or flag.name
            yield Detail(
                f"{spelled}: {reason}.", (facts.flag(flag.name),), Fix(text="leave it away", drop_flags=(spelled,))
            )


def _ignored_because(facts: Facts, name: str) -> str | None:
    algorithm = facts.algorithm
    if name.startswith("speculative_ngram_") and algorithm != "NGRAM":
        return f"read for NGRAM only, and the algorithm is {facts.named_algorithm}"
    if name.startswith("speculative_dflash_") and algorithm != "DFLASH":
        return f"read for DFLASH only, and the algorithm is {facts.named_algorithm}"
    if name.startswith("speculative_dspark_") and algorithm != "DSPARK":
        return f"read for DSPARK only, and the algorithm is {facts.named_algorithm}"
    if algorithm == "NGRAM" and name in ("speculative_draft_model_path", "speculative_draft_model_revision"):
        return "NGRAM has no draft model"
    if algorithm == "NGRAM" and name in ("speculative_num_steps", "speculative_eagle_topk"):
        return "NGRAM sets it from its own flags"
    if algorithm in ("DFLASH", "DSPARK") and name in ("speculative_num_steps", "speculative_eagle_topk"):
        return None if facts.get(name) == 1 else f"{algorithm} sets it to 1"
    if name == "speculative_draft_window_size" and algorithm not in ("EAGLE", "EAGLE3", "DFLASH"):
        return f"not read for {facts.named_algorithm}"
    if name == "speculative_draft_window_size" and facts.draft.family == "eagle3_mla":
        return "the MLA draft class does not read it"
    return None


def _problems(facts: Facts, *kinds: str) -> list[FlagProblem]:
    if facts.arguments is None:
        return []
    return [problem for problem in facts.arguments.problems if problem.kind in kinds]


def _renamed(problem: FlagProblem) -> Fix:
    """Write the nearest flag in its place; the command is changed only where the value is one known word, or none."""
    assert problem.nearest is not None
    text = f"write {problem.nearest}"
    guessed = problem.kind == "ambiguous" and problem.nearest != f"{problem.spelled}-decode"
    if guessed or problem.values is None or len(problem.values) > 1:
        return Fix(text=text)
    value = problem.values[0] if problem.values else None
    return Fix(text=text, set_flags={problem.nearest: value}, drop_flags=(problem.spelled,))


def _evidence(problem: FlagProblem) -> Evidence:
    return Evidence(what=problem.spelled, expected=problem.nearest, place=problem.place)
