"""Typed values, templates, and what comes of both."""

from pathlib import Path

import pytest

from engine.jobs.recipes.amounts import bytes_of, seconds_of
from engine.jobs.recipes.catalogue import load_catalogue
from engine.jobs.recipes.command import Launch, Wishes, build
from engine.jobs.recipes.reading import read_recipe
from engine.jobs.recipes.values import parse_words, resolve, shown
from state.secret_words import shown_argv
from tests.jobs.recipes.test_reading import GOOD

RECIPE = read_recipe(GOOD, "mine.toml")


def launch(*words: str, **wishes: object) -> Launch:
    given, mistakes = parse_words(RECIPE, words)
    values, more = resolve(RECIPE, given)
    assert not mistakes and not more
    return build(RECIPE, values, Wishes(**wishes), python="/p", working_dir="/w")  # type: ignore[arg-type]


def test_groups_conditions_and_lists() -> None:
    assert launch("port=1").argv == ("serve", "--port", "1", "--fast")
    assert launch("port=1", "model=/a b", "fast=no").argv == ("serve", "--port", "1", "--model", "/a b")
    assert launch("port=1", "extra=-x 'a b'", "extra=c").argv[-3:] == ("-x", "a b", "c")
    assert launch("port=1", "model=").argv == launch("port=1").argv


def test_nothing_is_given_to_a_shell() -> None:
    assert "$(reboot); `x` && {y} | z" in launch("port=1", "model=$(reboot); `x` && {y} | z").argv


@pytest.mark.parametrize(
    ("words", "name", "reason"),
    [
        (["port=x"], "port", "not a whole number"),
        (["port=70000"], "port", "between 1 and 65535"),
        (["fast=maybe"], "fast", "neither true nor false"),
        (["extra='a"], "extra", "cut into words"),
        (["nope=1"], "nope", "no parameter"),
        (["port"], "port", "not NAME=VALUE"),
        (["model=\0"], "model", "zero byte"),
    ],
)
def test_wrong_values(words: list[str], name: str, reason: str) -> None:
    given, mistakes = parse_words(RECIPE, words)
    _, more = resolve(RECIPE, given)
    assert reason in {**mistakes, **more}[name]


def test_required_and_choices() -> None:
    recipe = load_catalogue(Path("/nowhere")).find("sglang-eagle3")
    _, mistakes = resolve(recipe, {})
    assert mistakes == {"model": "is required", "draft": "is required"}
    _, mistakes = resolve(recipe, {"model": "m", "draft": "d", "algorithm": "EAGLE4", "tp": 0})
    assert set(mistakes) == {"algorithm", "tp"}


def test_schedule() -> None:
    recipe = load_catalogue(Path("/nowhere")).find("sglang-server")
    values, _ = resolve(recipe, {"model": "m", "tp": 4, "dp": 2, "port": 31000})
    found = build(recipe, values, Wishes(priority=3, secrets=("TOKEN",)), python="/p", working_dir="/w")
    schedule = found.schedule
    assert (schedule.gpus, schedule.ports, schedule.priority) == (8, (31000,), 3)
    assert (schedule.secrets, schedule.restart) == (("TOKEN",), "on-failure")
    assert schedule.ready_url == "http://127.0.0.1:31000/health_generate"
    found = build(recipe, values, Wishes(gpu_choice=(2, 5)), python="/p", working_dir="/w")
    assert (found.schedule.gpus, found.schedule.gpu_choice) == (0, (2, 5))


def test_secrets_are_hidden() -> None:
    words = ["serve", "--api-key", "sk-1", "--hf-token=abc", "--token-map", "x", "--max-tokens", "5"]
    hidden = shown_argv(words)
    assert "sk-1" not in hidden and not any("abc" in word for word in hidden)
    assert hidden[-1] == "5"


def test_shown_values_can_be_typed_again() -> None:
    assert [shown(one) for one in (True, ("a b", "c"), 3, None, "x")] == ["true", "'a b' c", "3", "", "x"]


def test_amounts() -> None:
    assert [bytes_of(text) for text in ("64GiB", "1.5 G", "10k", "7")] == [64 << 30, 3 << 29, 10 << 10, 7]
    assert [seconds_of(text) for text in ("12h", "90min", "1h30m", "30")] == [43200, 5400, 5400, 30]
    for wrong in ("", "x", "5y", "h"):
        with pytest.raises(ValueError, match="no length of time"):
            seconds_of(wrong)
