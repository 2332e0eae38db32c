"""The flag parser against argparse itself, rebuilt from the same table."""

import argparse
from typing import Any, NoReturn

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.check.flags.parser import parse
from engine.check.flags.table import Flag, flag_table, tables
from engine.check.flags.values import CONVERTERS
from engine.check.records import Argument, Place

RELEASES = ("0.4.6.post5", "0.5.9", "0.5.14", "0.5.23")


class Refused(Exception):
    pass


class RaisingParser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise Refused(message)


class Fixed(argparse.Action):
    """A switch that is kept apart from store_true, as SGLang's deprecated ones are."""

    def __call__(self, parser: Any, namespace: Any, values: Any, option_string: str | None = None) -> None:
        setattr(namespace, self.dest, self.const)


def add(parser: argparse.ArgumentParser, flag: Flag) -> None:
    if flag.action == "help":
        return
    settings: dict[str, Any] = {"dest": flag.dest, "default": flag.default}
    if flag.action in ("store_true", "boolean_optional"):
        settings["action"] = "store_true" if flag.action == "store_true" else argparse.BooleanOptionalAction
    elif flag.action == "store_const":
        settings |= {"action": Fixed, "const": flag.const, "choices": flag.choices}
        settings["nargs"] = None if flag.nargs == "1" else 0
    else:
        settings |= {"type": CONVERTERS.get(flag.type, str), "choices": flag.choices, "nargs": flag.nargs}
        settings["const"] = flag.const if flag.nargs == "?" else None
        settings["required"] = flag.required
    parser.add_argument(
        *flag.options, **{k: v for k, v in settings.items() if k in ("dest", "default") or v is not None}
    )


def rebuilt(release: str) -> RaisingParser:
    parser = RaisingParser(add_help=False)
    parser.add_argument("-h", "--help", action="store_true", dest="help")
    for flag in flag_table(release).flags:
        if flag.action not in ("removed", "ignored"):
            add(parser, flag)
    return parser


PARSERS = {release: rebuilt(release) for release in RELEASES}
PLAIN = st.sampled_from(
    ["8", "-1", "0.5", "-.5", "x", "", "two words", "None", "EAGLE3", "auto", "-", "[1]", "-x y", "1 2"]
)


@st.composite
def command_lines(draw: st.DrawFn) -> tuple[str, list[str]]:
    release = draw(st.sampled_from(RELEASES))
    skipped = {s for f in flag_table(release).flags if f.action in ("removed", "ignored", "help") for s in f.options}
    spellings = sorted(set(flag_table(release).spellings) - skipped)
    favoured = [s for s in spellings if s.startswith("--speculative") or s in ("--tp-size", "--cuda-graph-bs-decode")]
    spelling = st.one_of(st.sampled_from(favoured), st.sampled_from(spellings), st.just("--no-such-flag"))
    words = ["--model-path", "m"]
    for _ in range(draw(st.integers(0, 6))):
        word = draw(spelling)
        if draw(st.booleans()):
            word = word[: draw(st.integers(3, len(word)))]
        if draw(st.integers(0, 3)) == 0:
            word += "=" + draw(PLAIN)
        words.append(word)
        words += draw(st.lists(PLAIN, max_size=2))
    clean = [
        w for w in words if not any(s.startswith(w.partition("=")[0]) for s in skipped if len(w) > 2 and w[0] == "-")
    ]
    return release, clean


def arguments(words: list[str]) -> list[Argument]:
    return [Argument(word, Place("test")) for word in words]


@settings(max_examples=400, deadline=None)
@given(command_lines())
def test_reads_what_argparse_reads_and_refuses_what_it_refuses(case: tuple[str, list[str]]) -> None:
    release, words = case
    found = parse(arguments(words), flag_table(release))
    try:
        namespace = vars(PARSERS[release].parse_args(words))
    except Refused:
        assert found.problems, words
        return
    assert not found.problems, (words, found.problems)
    defaults = {flag.dest: flag.default for flag in flag_table(release).flags}
    for dest, value in namespace.items():
        if dest == "help":
            continue
        expected = found.flags[dest].value if dest in found.flags else defaults.get(dest, False)
        assert expected == value, (dest, words)


def test_reads_every_release() -> None:
    for release in tables().releases:
        found = parse(arguments(["--model-path", "m", "--speculative-algorithm", "EAGLE3"]), flag_table(release))
        assert found.flags["speculative_algorithm"].value == "EAGLE3"
        assert not found.problems


def test_the_last_of_repeated_flags_wins_and_the_earlier_values_are_kept() -> None:
    words = ["--model", "m", "--speculative-algo", "EAGLE", "--speculative-algorithm=EAGLE3"]
    flag = parse(arguments(words), flag_table("0.5.23")).flags["speculative_algorithm"]
    assert (flag.value, flag.repeated, flag.spelled) == ("EAGLE3", ("EAGLE",), "--speculative-algorithm")


@pytest.mark.parametrize(
    ("words", "kind", "nearest"),
    [
        (["--speculative-algoritm", "EAGLE3"], "unknown", "--speculative-algorithm"),
        (["--speculative_num_steps", "3"], "unknown", "--speculative-num-steps"),
        (["--cuda-graph-max-bs", "8"], "ambiguous", "--cuda-graph-max-bs-decode"),
        (["--speculative-num", "3"], "ambiguous", "--speculative-num-steps"),
        (["--speculative-num-steps"], "missing_value", None),
        (["--speculative-num-steps", "three"], "invalid", None),
        (["--attention-backend", "flashinfr"], "invalid", "flashinfer"),
        (["--enable-metrics=yes"], "invalid", None),
        (["stray"], "unknown", None),
    ],
)
def test_names_what_the_server_refuses(words: list[str], kind: str, nearest: str | None) -> None:
    (problem,) = parse(arguments(["--model", "m", *words]), flag_table("0.5.23")).problems
    assert (problem.kind, problem.nearest) == (kind, nearest)


def test_tells_which_releases_had_a_flag_that_is_gone() -> None:
    (problem,) = parse(arguments(["--model", "m", "--cuda-graph-bs", "8"]), flag_table("0.5.23")).problems
    assert "0.4.6 to 0.5.19" in problem.message
    assert not parse(arguments(["--model", "m", "--cuda-graph-bs", "8"]), flag_table("0.5.9")).problems


def test_a_missing_model_path_is_told() -> None:
    (problem,) = parse([], flag_table("0.5.23")).problems
    assert problem.kind == "missing_value" and problem.spelled == "--model-path"


def test_a_value_from_an_unknown_variable_is_neither_refused_nor_guessed() -> None:
    words = [Argument("--speculative-num-steps", Place("t")), Argument("$STEPS", Place("t"), None, ("STEPS",))]
    found = parse([*arguments(["--model", "m"]), *words], flag_table("0.5.23"))
    assert not found.problems
    assert found.flags["speculative_num_steps"].value is None
    assert found.flags["speculative_num_steps"].unresolved == ("STEPS",)


def test_a_refused_value_is_kept_so_that_rules_can_speak_of_it() -> None:
    words = ["--model", "m", "--speculative-algorithm", "EAGEL3", "--speculative-num-steps", "three"]
    found = parse(arguments(words), flag_table("0.5.9"))
    assert [problem.kind for problem in found.problems] == ["invalid", "invalid"]
    assert found.flags["speculative_algorithm"].value == "EAGEL3"
    assert found.flags["speculative_num_steps"].unresolved == ("three",)
