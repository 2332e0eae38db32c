"""What could not be read, told once."""

from collections.abc import Iterator

from engine.check.facts.deployment import Facts
from engine.check.facts.plausible import implausible
from engine.check.records import Evidence, Fix, Model
from engine.check.rules.registry import Detail, rule


@rule(
    "config-unreadable",
    "error",
    "A model's file cannot be read",
    explanation="Broken JSON, a truncated shard, a header that lies. The server stops at the same place.",
    source="safetensors 0.6; the files themselves",
    framework="any",
)
def config_unreadable(facts: Facts) -> Iterator[Detail]:
    """Each file with its fault."""
    for model in _models(facts):
        for problem in model.problems:
            target_config = (
                problem.kind == "missing_file" and problem.path.endswith("/config.json") and model.role == "target"
            )
            missing_shard = problem.kind == "missing_file" and problem.path.endswith(".safetensors")
            if problem.kind == "unreadable" or target_config or missing_shard:
                yield Detail(
                    f"{problem.path} {problem.message}.", (Evidence(what=problem.path, found=problem.message),)
                )


@rule(
    "config-value-implausible",
    "error",
    "A number in a config that no model has",
    explanation="Counts and widths below 0 or far above any model: a damaged or hostile file. Shapes that follow from it are "
    "not computed.",
    source="Alula; deepest published model: 126 layers, largest vocabulary: 262,208",
    framework="any",
)
def config_value_implausible(facts: Facts) -> Iterator[Detail]:
    """Each number with its key."""
    for model, config in (
        (facts.deployment.target, facts.target.config),
        (facts.deployment.draft, facts.draft.config),
    ):
        for one in implausible(config):
            assert model is not None
            found = f"{one.value:.6g}" if abs(one.value) < 1e300 else "a number of hundreds of digits"
            yield Detail(
                f"The {model.role}'s config has {one.key} = {found}; the most that is plausible is {one.largest:,}.",
                (Evidence(what=f"{model.folder}/config.json: {one.key}", expected=f"0 to {one.largest}", found=found),),
                Fix(text="restore the config that belongs to the weights"),
            )


@rule(
    "weights-not-safetensors",
    "warning",
    "The weights are pickled: they are not opened",
    explanation="Opening a pickle runs the code in it. Shapes are therefore unchecked; convert the checkpoint to safetensors.",
    source="safetensors",
    framework="any",
)
def weights_not_safetensors(facts: Facts) -> Iterator[Detail]:
    """Pickles or GGUF."""
    for model in _models(facts):
        for problem in model.problems:
            if problem.kind == "not_safetensors":
                yield Detail(
                    f"{problem.path}: {problem.message}; shapes are unchecked.", (Evidence(what=problem.path),)
                )


@rule(
    "input-missing",
    "info",
    "Something is not on this machine, so parts are unchecked",
    explanation="Rules that lack an input say nothing. What is missing, and what was therefore not checked, is told here once.",
    source="Alula",
    framework="any",
)
def input_missing(facts: Facts) -> Iterator[Detail]:
    """One line for all that is missing."""
    missing: list[str] = []
    evidence: list[Evidence] = []
    if facts.deployment.launch is None and facts.deployment.live is not None and facts.arguments is None:
        return
    for model in _models(facts):
        gone = [problem for problem in model.problems if problem.kind in ("not_cached", "not_found")]
        if gone:
            missing.append(
                f"the {model.role} {model.reference} is not on this machine: widths, vocabularies and weights are unchecked"
            )
            evidence.append(Evidence(what=gone[0].path, found=gone[0].message))
        elif model.role == "draft" and model.tensors is None and model.config is not None:
            missing.append("the draft's weights are not here: tensors are unchecked")
            evidence.append(Evidence(what=f"{model.folder}/*.safetensors", found="absent"))
    unresolved = facts.deployment.launch.unresolved if facts.deployment.launch is not None else ()
    if unresolved:
        names = ", ".join(f"${name}" for name in unresolved)
        missing.append(f"{names} not set in the file: flags that depend on it are unchecked")
        evidence += [Evidence(what=f"${name}", found="not set") for name in unresolved]
    for problem in facts.arguments.problems if facts.arguments is not None else ():
        if problem.kind == "config_elsewhere":
            missing.append(problem.message)
            evidence.append(Evidence(what=problem.spelled, found="not here", place=problem.place))
    if missing:
        yield Detail("; ".join(missing) + ".", tuple(evidence))


def _models(facts: Facts) -> list[Model]:
    return [model for model in (facts.deployment.target, facts.deployment.draft) if model is not None]
