"""`alula data show`, as an operator runs it."""

import json
from pathlib import Path

from click.testing import CliRunner

from console.command_line.root import alula


def run(*arguments: str) -> tuple[int, str, str]:
    done = CliRunner().invoke(alula, ["data", "show", *arguments])
    return done.exit_code, done.stdout, done.stderr


def test_shape_reason_and_samples(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"instruction": "Sum", "input": "1 2", "output": "3"}\n')
    code, text, _ = run(str(path))
    assert code == 0
    assert "Alpaca" in text
    assert "[user]\n    Sum\n    \n    1 2" in text


def test_the_same_for_scripts(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"title": "T", "summary": "S"}\n')
    code, text, _ = run(str(path), "--map", "prompt=Solve {title}: {summary}", "--json")
    assert code == 0
    assert json.loads(text)["samples"][0]["after"]["messages"] == [{"role": "user", "content": "Solve T: S"}]


def test_escape_sequences_and_markup_do_no_harm(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps({"prompt": "\x1b[2J\x1b]0;owned\x07[red]hi[/red]\u202e", "\x1b[31m": "x"}) + "\n")
    _, text, _ = run(str(path))
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert "[red]hi[/red]" in text


def test_what_cannot_be_read_is_said_with_a_remedy(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"\xff\xfe\xff\n")
    for arguments in ((str(path),), (str(tmp_path / "none.jsonl"),), ("no id at all",), (str(path), "--map", "prompt")):
        code, _, said = run(*arguments)
        assert code == 2
        assert len(said.strip().splitlines()) == 2


def test_an_unsure_guess_ends_with_1(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"weird": "some long text here"}\n')
    code, text, _ = run(str(path))
    assert code == 1
    assert "confirm it with --map prompt=weird" in text
