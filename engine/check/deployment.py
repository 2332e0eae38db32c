"""Puts together what is known of one server: launch, flags of its release, models, live answers."""

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from engine.check.errors import SourceUnreadable
from engine.check.flags.reading import live_arguments, read_arguments
from engine.check.flags.release import Release, choose_release, installed_release
from engine.check.flags.vllm import read_vllm_arguments
from engine.check.live import release_of
from engine.check.paths import host_path, is_file, is_folder
from engine.check.records import (
    Argument,
    Benchmark,
    Deployment,
    Launch,
    LiveServer,
    Model,
    Role,
    ServerArguments,
    UnresolvedValue,
)


def assemble(
    launch: Launch | None,
    *,
    sglang_version: str | None = None,
    live: LiveServer | None = None,
    break_even_accept_length: float | None = None,
    benchmarks: tuple[Benchmark, ...] = (),
) -> Deployment:
    """One deployment. Release: `sglang_version`, else the live server's, else what image, pin or interpreter name.

    A benchmark that starts its own server names the models where there is no launch.
    """
    launch = launch if launch is not None else _stated_launch(live)
    release = choose_release(sglang_version, release_of(live) if live else None, *_hints(launch))
    arguments = _arguments(launch, live, release)
    return Deployment(
        launch=launch,
        arguments=arguments,
        target=_placed(_target(launch, arguments) or _benchmarked("target", launch, benchmarks), launch, live),
        draft=_placed(_draft(launch, arguments) or _benchmarked("draft", launch, benchmarks), launch, live),
        live=live,
        break_even_accept_length=break_even_accept_length,
        benchmarks=benchmarks,
    )


def search_folders(launch: Launch | None) -> list[Path]:
    """Where relative paths of a launch are looked for, in order."""
    if launch is None:
        return [Path.cwd()]
    source = Path(launch.place.source)
    folders = [Path(launch.working_folder)] if launch.working_folder else []
    return [*folders, *([source.parent] if is_file(source) else []), Path.cwd()]


def _hints(launch: Launch | None) -> tuple[str | None, ...]:
    if launch is None:
        return ()
    interpreter = next((word.text for word in launch.program if word.text.startswith("/")), None)
    outside = launch.mounts or any(word.text in ("docker", "podman") for word in launch.program)
    return launch.release_hint, installed_release(interpreter) if interpreter and not outside else None


def _arguments(launch: Launch | None, live: LiveServer | None, release: Release) -> ServerArguments | None:
    if launch is not None and launch.framework == "vllm":
        return read_vllm_arguments(launch.arguments)
    if launch is not None:
        return read_arguments(launch, release, search_folders(launch))
    if live is not None and live.server_info is not None:
        return live_arguments(live.server_info, release, live.url)
    return None


def _stated_launch(live: LiveServer | None) -> Launch | None:
    """The command that a server states as typed (`launch_command`, 0.5.23)."""
    from engine.check.sources.argument_list import read_argv

    stated = (live.server_info or {}).get("launch_command") if live is not None else None
    assert live is not None or stated is None
    try:
        words = shlex.split(stated) if isinstance(stated, str) else [str(word) for word in stated or ()]
        if words and words[0].startswith("-"):
            words = ["sglang", "serve", *words]
        return read_argv(words, live.url) if words and live is not None else None
    except (SourceUnreadable, ValueError, TypeError):
        return None


def _target(launch: Launch | None, arguments: ServerArguments | None) -> Model | None:
    if launch is not None and launch.framework == "vllm":
        return _model(_known(arguments, "model"), "target", _known(arguments, "revision"), launch)
    return _model(_known(arguments, "model_path"), "target", _known(arguments, "revision"), launch)


def _draft(launch: Launch | None, arguments: ServerArguments | None) -> Model | None:
    if launch is not None and launch.framework == "vllm":
        config = _known(arguments, "speculative_config")
        settings: Mapping[str, Any] = config if isinstance(config, dict) else {}
        return _model(settings.get("model"), "draft", settings.get("revision"), launch)
    revision = _known(arguments, "speculative_draft_model_revision")
    return _model(_known(arguments, "speculative_draft_model_path"), "draft", revision, launch)


def _benchmarked(role: Role, launch: Launch | None, benchmarks: tuple[Benchmark, ...]) -> Model | None:
    names = {"target": ("model_path", "model"), "draft": ("speculative_draft_model_path", "speculative_draft")}[role]
    starts_servers = [one for one in benchmarks if one.tool in ("bench_speculative", "bench_eagle3")]
    paths = (one.options.get(name) for one in starts_servers for name in names)
    return None if launch is not None else _model(next(filter(None, paths), None), role, None, launch)


def _known(arguments: ServerArguments | None, name: str) -> Any:
    try:
        return arguments.get(name) if arguments is not None else None
    except UnresolvedValue:
        return None


def _model(reference: Any, role: Role, revision: Any, launch: Launch | None) -> Model | None:
    from engine.check.models import read_model

    if not isinstance(reference, str) or not reference:
        return None
    folders = search_folders(launch)
    found = host_path(reference, launch.mounts if launch is not None else ())
    named = revision if isinstance(revision, str) else None
    for folder in folders:
        if not Path(found).is_absolute() and is_folder(folder / found):
            return _named(read_model(found, role, named, folder), reference)
    return _named(read_model(found, role, named, folders[0]), reference)


def _placed(model: Model | None, launch: Launch | None, live: LiveServer | None) -> Model | None:
    """A path that is not here is no fault where the server runs already, in a container or on another host."""
    runs = live is not None and live.server_info is not None
    if model is None or not (runs or launch is None or launch.elsewhere or launch.pid is not None):
        return model
    problems = tuple(
        msgspec.structs.replace(problem, kind="not_cached", message="lies in a container or on another host")
        if problem.kind == "not_found"
        else problem
        for problem in model.problems
    )
    return msgspec.structs.replace(model, problems=problems)


def _named(model: Model, reference: str) -> Model:
    return model if model.reference == reference else msgspec.structs.replace(model, reference=reference)


def words_of(launch: Launch) -> tuple[Argument, ...]:
    """The whole command in order, as it was typed: without the `--model-path` that a positional model stands for."""
    return (*launch.program, *(word for word in launch.arguments if word.raw != ""))
