"""Reads a campaign's file (TOML). Relative paths are taken from its folder."""

import os
import re
import tomllib
from pathlib import Path
from typing import Any

import msgspec

from engine.campaign.specification import CampaignError, Specification
from state.outside_file import read_small_text

MOST = 1e12
"""Of anything that is counted or timed in a campaign's file."""

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,39}")


def read_specification(path: Path) -> Specification:
    """The campaign that a file describes, its paths made absolute. `$NAME` in paths is the environment's value.

    Raises:
        CampaignError: It cannot be read, has a slip in it, or names files that are not there.
    """
    try:
        found = msgspec.convert(tomllib.loads(read_small_text(path)), Specification)
    except (OSError, UnicodeDecodeError) as error:
        raise CampaignError(f"cannot read {path}: {error}", "give a TOML file") from error
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise CampaignError(f"{path} is not TOML: {error}", "repair the line that it names") from error
    except msgspec.ValidationError as error:
        raise CampaignError(f"{path}: {error}", "docs/campaign.md names all fields") from error
    whole = _absolute(found, path.absolute().parent)
    check(whole)
    return whole


def check(wanted: Specification) -> None:
    """Refuse what could only fail later.

    Raises:
        CampaignError: Saying what and what to do.
    """
    if not NAME.fullmatch(wanted.name):
        raise CampaignError(
            f"the name {wanted.name[:60]!r} cannot be used", "letters, digits, dot, dash and underscore, 40 at most"
        )
    if bool(wanted.data.plan) == bool(wanted.data.prompts):
        raise CampaignError("[data] needs a plan or prompts, and not both", "give plan = FILE, or prompts = [FILES]")
    if not 1 <= wanted.speedup <= 10:
        raise CampaignError(f"a goal of {wanted.speedup:g}x", "give a speed-up of 1 to 10")
    if not wanted.target.reference and not wanted.target.command:
        _refuse_unknown_server(wanted)
    _check_amounts(wanted)
    _check_numbers(wanted)
    _check_files(wanted)


def _refuse_unknown_server(wanted: Specification) -> None:
    import shutil

    if shutil.which("python") is None and shutil.which("python3") is None:
        raise CampaignError(f"no Python is in PATH to serve {wanted.target.model}", "give [target] command = [...]")


def _check_amounts(wanted: Specification) -> None:
    bench, train = wanted.bench, wanted.train
    if train is not None and any(samples < 1 for samples in train.samples):
        raise CampaignError("[train] samples below 1", "give the amounts to train on, smallest first")
    if train is not None and len(set(train.samples)) < len(train.samples):
        raise CampaignError("[train] names an amount of samples twice", "give each once")
    if not bench.num_steps or not bench.concurrency or min(*bench.num_steps, *bench.concurrency, bench.repeats) < 1:
        raise CampaignError("[bench] num_steps, concurrency and repeats start at 1", "give at least one of each")
    regenerate = wanted.regenerate
    if not 0 <= regenerate.held_out <= 0.5 or not 0 <= regenerate.most_failed <= 1:
        raise CampaignError("[regenerate] held_out is 0 to 0.5, most_failed 0 to 1", "give shares, not percent")
    if not 0 <= regenerate.concurrency <= 4096 or regenerate.max_tokens < 1:
        raise CampaignError("[regenerate] concurrency is 0 to 4096, max_tokens 1 or more", "0 finds the concurrency")


def _check_numbers(wanted: Specification) -> None:
    """Each by its field: TOML knows nan and inf, and any whole number."""
    target, train, regenerate, bench = wanted.target, wanted.train, wanted.regenerate, wanted.bench
    above_zero: dict[str, tuple[float | None, ...]] = {
        "[target] ready_within_s": (target.ready_within_s,),
        "[data] workers": (wanted.data.workers,),
        "[regenerate] limit": (regenerate.limit,),
        "[regenerate] max_tokens": (regenerate.max_tokens,),
        "[train] samples": train.samples if train is not None else (),
        "[bench] limit": (bench.limit,),
        "[bench] max_tokens": (bench.max_tokens,),
        "[limits] hours": (wanted.limits.hours,),
        "[limits] gpu_hours": (wanted.limits.gpu_hours,),
        "[forecast] at": wanted.forecast.at,
    }
    zero_or_more: dict[str, float | None] = {
        "[target] gpus": target.gpus,
        "[train] gpus": train.gpus if train is not None else None,
        "[regenerate] temperature": regenerate.temperature,
        "[limits] price_per_gpu_hour": wanted.limits.price_per_gpu_hour,
    }
    for field, values in above_zero.items():
        if any(not 0 < value <= MOST for value in values if value is not None):
            raise CampaignError(f"{field} makes no sense", f"give a number above 0 and up to {MOST:,.0f}")
    for field, value in zero_or_more.items():
        if value is not None and not 0 <= value <= MOST:
            raise CampaignError(f"{field} makes no sense", f"give a number from 0 to {MOST:,.0f}")


def _check_files(wanted: Specification) -> None:
    named = {
        "[data] plan": [wanted.data.plan],
        "[data] prompts": wanted.data.prompts,
        "[bench] prompts": [wanted.bench.prompts],
        "[forecast] points": [wanted.forecast.points],
    }
    for field, paths in named.items():
        for path in paths:
            if path and not Path(path).is_file():
                raise CampaignError(f"{field}: there is no file {path}", "repair the path, or make the file")
    if wanted.draft is not None and not (Path(wanted.draft.path) / "config.json").is_file():
        raise CampaignError(f"[draft] path: {wanted.draft.path} has no config.json", "give a draft's folder")
    if wanted.target.reference and not (Path(wanted.target.model) / "config.json").is_file():
        raise CampaignError(f"[target] model: {wanted.target.model} has no config.json", "give the target's folder")


def _absolute(found: Specification, folder: Path) -> Specification:
    replace = msgspec.structs.replace
    model = _path(found.target.model, folder)
    target = replace(found.target, model=model if Path(model).is_dir() else os.path.expandvars(found.target.model))
    data = replace(
        found.data,
        plan=_path(found.data.plan, folder),
        prompts=tuple(_path(path, folder) for path in found.data.prompts),
    )
    draft = found.draft and replace(found.draft, path=_path(found.draft.path, folder))
    return replace(
        found,
        target=target,
        data=data,
        draft=draft,
        bench=replace(found.bench, prompts=_path(found.bench.prompts, folder)),
        forecast=replace(found.forecast, points=_path(found.forecast.points, folder)),
    )


def _path(written: str, folder: Path) -> str:
    if not written:
        return ""
    return str((folder / Path(os.path.expandvars(written)).expanduser()).absolute())


def stored(wanted: Specification) -> dict[str, Any]:
    """As a campaign's row holds it."""
    found: dict[str, Any] = msgspec.to_builtins(wanted)
    return found
