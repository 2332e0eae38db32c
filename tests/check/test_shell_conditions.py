"""Tests and arithmetic of a shell script are decided as bash decides them, or left open."""

import shutil
import subprocess

import pytest

from engine.check.sources.reading import find_servers
from engine.check.sources.shell_arithmetic import whole_number

SET = "A=1 B=beta NONE= MORE=10\n"
DECIDED = [
    '[ "$A" = 1 ]',
    '[ "$A" != 1 ]',
    '[ "$A" == 2 ]',
    "[ $A -eq 1 ]",
    "[ $A -ne 1 ]",
    "[ $MORE -gt $A ]",
    "[ $A -ge 2 ]",
    "[ $MORE -lt 9 ]",
    "[ $A -le 1 ]",
    '[ -n "$B" ]',
    '[ -z "$NONE" ]',
    '! [ -z "$NONE" ]',
    '[ ! -z "$B" ]',
    "[[ $B == b* ]]",
    "[[ $B != b* ]]",
    "[[ -n $A && $B == beta ]]",
    "[[ -z $A || $B == gamma ]]",
    "[[ ( -n $A ) && -z $NONE ]]",
    '[ "$A" = 1 -a "$B" = gamma ]',
    '[ "$A" = 2 -o "$B" = beta ]',
    "[[ $A == 2 && -n $B || $B == beta ]]",
    "[[ $A == 1 || -n $B && $B == gamma ]]",
    '[ -n "$B" -a "$A" -eq 1 -o "$B" = gamma ]',
    '[ ! "$A" = 2 -a ! -z "$B" ]',
    '[ "$B" ]',
    '[ "$NONE" ]',
    '[ "$B" = "b*" ]',
    '[[ $B == "b*" ]]',
    "test $A = 1",
    "test $A = 2 -o $B = beta",
    "test ! $A = 2",
    "test -n $B",
    "test -z $B",
    "true",
    "false",
    ":",
    "[ $((A + 2 * 3 - 4 % 3)) -eq 6 ]",
    "[ $((-MORE / 3)) -eq -3 ]",
    "[ $((-MORE % 3)) -eq -1 ]",
]


@pytest.fixture(scope="module")
def bash() -> list[bool]:
    """What bash itself decides."""
    if shutil.which("bash") is None:
        pytest.skip("NOT TESTED: no bash here")
    script = SET + "".join(f"if {test}; then echo 1; else echo 0; fi\n" for test in DECIDED)
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True, timeout=60)
    return [line == "1" for line in done.stdout.split()]


def ports(test: str) -> list[str]:
    """Of the servers that may be launched, with `yes` or `no` where it is certain which."""
    run = "python -m sglang.launch_server --model-path /m --served-model-name"
    script = f"{SET}if {test}; then {run} yes; else {run} no; fi"
    return [launch.arguments[-1].text for launch in find_servers(script, "launch.sh", None).launches]


@pytest.mark.parametrize("number", range(len(DECIDED)), ids=DECIDED)
def test_a_known_test_is_decided_as_bash_does(bash: list[bool], number: int) -> None:
    assert ports(DECIDED[number]) == ["yes" if bash[number] else "no"]


@pytest.mark.parametrize(
    "test",
    [
        "[ -f /etc/hosts ]",
        '[ "$UNSET_HERE" = 1 ]',
        "grep -q x file",
        "[ $B -gt 1 ]",
        "[[ $B =~ ^b ]]",
        "[[ $B == $UNSET_HERE* ]]",
        "test -f /x",
        "[ -z $UNSET_HERE ]",
        "[[ $A < 2 ]]",
        "[ $A -eq 1 -a -f /x ]",
    ],
)
def test_what_depends_on_the_host_leaves_both_branches_open(test: str) -> None:
    assert ports(test) == ["yes", "no"]


@pytest.mark.parametrize("body", ["1 +", "1 / 0", "f(1)", "UNKNOWN + 1", "1.5", "2 ** 99", str(1 << 70)])
def test_what_is_no_whole_number_has_no_value(body: str) -> None:
    def value_of(name: str) -> int:
        raise ValueError(name)

    assert whole_number(body, value_of) is None
