"""What could not be read, told once."""

from collections.abc import Iterator, Mapping

from engine.check.facts.deployment import Facts
from engine.check.facts.plausible import implausible, texts
from engine.check.records import Evidence, Fix, Model
from engine.check.rules.registry import Detail, rule

TARGET_KEYS = (
    ("hidden_size", "n_embd", "d_model", "model_dim", "dim"),
    ("num_hidden_layers", "num_layers", "n_layer", "n_layers"),
)
"""What models call them."""
DRAFT_KEYS = ("hidden_size", "vocab_size", "num_attention_heads", "num_hidden_layers", "intermediate_size")


@rule(
    "config-unreadable",
    "error",
    "A model's file cannot be read",
    explanation="Broken JSON, keys that every model has and this one lacks, a truncated shard, a header that lies. The server "
    "stops at the same place, or builds the class's default shape.",
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
        absent = [] if model.config is None else list(_absent_keys(facts, model))
        if absent:
            path = f"{model.folder}/config.json"
            yield Detail(
                f"{path} lacks {', '.join(absent)}.",
                tuple(Evidence(what=f"{path}: {key}", found="absent") for key in absent),
                Fix(text="restore the config that belongs to the weights"),
            )


def _absent_keys(facts: Facts, model: Model) -> Iterator[str]:
    """Of a target without which nothing can be said; of a draft those that its class would fill with Llama 7B's."""
    config = model.config or {}
    if not config.get("architectures"):
        yield "architectures"
    if model.role == "target":
        nested = any(isinstance(one, Mapping) for one in config.values())
        for names in () if nested and facts.target.config is config else TARGET_KEYS:
            if all(facts.target.config.get(name) is None for name in names):
                yield names[0]
    elif facts.draft.family in ("eagle3_llama", "eagle3_mla"):
        yield from (name for name in DRAFT_KEYS if facts.draft.config.get(name) is None)


@rule(
    "config-value-implausible",
    "error",
    "A number in a config that no model has",
    explanation="Counts and widths below 0 or far above any model: a damaged or hostile file. Shapes that follow from it are "
    "not computed. A number in quotes is refused at start.",
    source="Alula; deepest published model: 126 layers, largest vocabulary: 262,208",
    framework="any",
)
def config_value_implausible(facts: Facts) -> Iterator[Detail]:
    """Each number with its key."""
    for model, config in (
        (facts.deployment.target, facts.target.config),
        (facts.deployment.draft, facts.draft.config),
    ):
        for key in texts(config):
            assert model is not None
            evidence = Evidence(
                what=f"{model.folder}/config.json: {key}", expected="a number", found=repr(config[key])[:80]
            )
            yield Detail(
                f"The {model.role}'s config has {key} as a text, {evidence.found}: the start fails.",
                (evidence,),
                Fix(text="take the quotes off"),
            )
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
