"""Whether there is a draft, where it lies, and whether the target can serve it."""

from collections.abc import Iterator
from pathlib import Path

from engine.check.facts.classes import BUNDLED_MTP, RENAMED_MTP, model_classes
from engine.check.facts.deployment import Facts
from engine.check.paths import is_file
from engine.check.records import Evidence, Fix
from engine.check.rules.registry import Detail, rule

NEED_DRAFT = frozenset({"EAGLE", "EAGLE3", "DFLASH", "STANDALONE", "FROZEN_KV_MTP", "DSPARK"})
DSPARK_KEYS = ("dspark_block_size", "dspark_markov_rank", "dspark_noise_token_id", "dspark_target_layer_ids")
SEPARATE_DRAFT = frozenset({"EAGLE3", "DFLASH"})


@rule(
    "draft-path-missing",
    "error",
    "The algorithm needs a draft, and none is given",
    explanation="EAGLE, EAGLE3, DFLASH and STANDALONE load a draft. Where no path is given the target's own checkpoint is "
    "loaded in its place: right for targets that bundle MTP layers, a crash for all others. EAGLE3 always needs a path.",
    source="sglang 0.5.23, arg_groups/speculative_hook.py; sglang issue 36528",
)
def draft_path_missing(facts: Facts) -> Iterator[Detail]:
    """No path, and the target bundles no draft."""
    if facts.algorithm not in NEED_DRAFT or facts.draft_path is not None or facts.deployment.launch is None:
        return
    if facts.algorithm == "EAGLE" and (facts.target.architecture is None or _bundles_mtp(facts)):
        return
    if facts.algorithm == "DSPARK" and (facts.target.architecture is None or _bundles_dspark(facts)):
        return
    yield Detail(
        f"{facts.named_algorithm} needs --speculative-draft-model-path"
        + (
            ": the target does not bundle a draft, and its own weights would be loaded as one."
            if facts.target.architecture
            else "."
        ),
        (facts.flag("speculative_algorithm"), facts.flag("speculative_draft_model_path", "a path or repository id")),
        Fix(text="give the draft with --speculative-draft-model-path"),
    )


@rule(
    "draft-path-redundant",
    "info",
    "The target bundles its MTP layers; the draft path is not needed",
    explanation="With EAGLE or NEXTN these targets use the MTP layers of their own checkpoint. SGLang's own log says the "
    "same of EAGLE-3 drafts on such targets, where it is wrong.",
    source="sglang 0.5.23, arg_groups/speculative_hook.py",
)
def draft_path_redundant(facts: Facts) -> Iterator[Detail]:
    """An MTP path on a target that has MTP built in."""
    bundled = facts.draft.family == "mtp" or (
        facts.draft_path is not None and facts.draft_path == facts.get("model_path")
    )
    if facts.algorithm == "EAGLE" and bundled and facts.target.architecture in BUNDLED_MTP:
        yield Detail(
            "The target loads its own MTP layers where no path is given.",
            (facts.flag("speculative_draft_model_path"),),
            Fix(text="leave the path away", drop_flags=("--speculative-draft-model-path",)),
        )


@rule(
    "draft-path-not-found",
    "error",
    "The draft's folder is not there, or has no config.json",
    explanation="A local path that does not exist, or holds no config.json, stops the start. On another host, or inside a "
    "container, it may be another folder.",
    source="sglang 0.5.23, configs/model_config.py",
)
def draft_path_not_found(facts: Facts) -> Iterator[Detail]:
    """A local path that leads nowhere."""
    draft = facts.deployment.draft
    if draft is None or facts.algorithm in (None, "NGRAM"):
        return
    for problem in draft.problems:
        missing_config = problem.kind == "missing_file" and Path(problem.path).name == "config.json"
        if problem.kind == "not_found" or missing_config:
            yield Detail(
                f"{problem.path}: {problem.message}.",
                (facts.flag("speculative_draft_model_path"), Evidence(what=problem.path, found=problem.message)),
                Fix(text="correct the path; on another host check it there"),
            )


@rule(
    "draft-is-target",
    "error",
    "Draft and target are the same checkpoint",
    explanation="EAGLE3 and DFLASH need a separate draft: the target's own weights fill none of its parameters.",
    source="sglang 0.5.23, models/llama_eagle3.py load_weights",
)
def draft_is_target(facts: Facts) -> Iterator[Detail]:
    """One path given twice."""
    target, draft = facts.deployment.target, facts.deployment.draft
    if facts.algorithm not in SEPARATE_DRAFT or target is None or draft is None:
        return
    same_folder = target.folder is not None and draft.folder is not None and _same(target.folder, draft.folder)
    if same_folder or target.reference == draft.reference:
        yield Detail(
            f"{facts.algorithm} needs a draft of its own; this path is the target's.",
            (facts.flag("model_path"), facts.flag("speculative_draft_model_path")),
            Fix(text="give the draft's path"),
        )


@rule(
    "eagle3-target-unsupported",
    "error",
    "This target cannot hand out layers for EAGLE-3 in this release",
    explanation="The target's class has no set_eagle3_layers_to_capture. From 0.5.23 the start fails with a clear error, "
    "before that with an AttributeError.",
    source="classes of the SGLang wheels 0.4.6 to 0.5.23, inheritance followed",
)
def eagle3_target_unsupported(facts: Facts) -> Iterator[Detail]:
    """EAGLE3 on a class without capture."""
    name = facts.target.architecture
    if facts.algorithm != "EAGLE3" or name is None or facts.target.can_capture is not False:
        return
    known = model_classes().get(name)
    later = known.eagle3_since if known is not None else None
    when = f"it can from {later} on" if later is not None else "no release up to 0.5.23 can"
    yield Detail(
        f"{name} hands out no layers in SGLang {facts.release}; {when}. The start fails.",
        (facts.config_key("target", "architectures"), facts.flag("speculative_algorithm")),
        Fix(text=f"use SGLang {later} or later" if later is not None else "use another algorithm for this target"),
    )


def _bundles_mtp(facts: Facts) -> bool:
    layers = facts.target.config.get("num_nextn_predict_layers", facts.target.config.get("mtp_num_hidden_layers"))
    if isinstance(layers, int):
        return layers > 0
    return facts.target.architecture in BUNDLED_MTP | RENAMED_MTP


def _bundles_dspark(facts: Facts) -> bool:
    """By a key of the target's config, or a `dspark` folder in its checkpoint (sglang 0.5.23, dspark_config.py)."""
    folder = facts.deployment.target.folder if facts.deployment.target is not None else None
    beside = folder is not None and is_file(Path(folder) / "dspark" / "config.json")
    configs = (facts.target.config, facts.deployment.target.config or {} if facts.deployment.target else {})
    return beside or any(config.get(key) is not None for config in configs for key in DSPARK_KEYS)


def _same(one: str, other: str) -> bool:
    return Path(one).resolve() == Path(other).resolve()
