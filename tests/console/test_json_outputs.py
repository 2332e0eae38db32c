"""What `--json` prints is what its schema says, for every command; and the document of it is current."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import jsonschema
import pytest
from click.testing import CliRunner

from console.command_line.root import alula
from console.json_forms.document import document
from console.json_forms.schema import schema_of
from console.json_forms.table import FORMS
from tests.console.json_cases import CASES, ELSEWHERE
from tests.console.lived_in import LivedIn

FAMILIES = sorted({case.command.split()[0] for case in CASES})


@pytest.fixture
def lived_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[LivedIn]:
    monkeypatch.setenv("ALULA_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("ALULA_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.chdir(tmp_path)
    made = LivedIn(tmp_path)
    yield made
    made.close()


def closed_schema(command: str, when: str) -> dict[str, Any]:
    """The form's schema, which here allows nothing that it does not name."""
    schema = schema_of(command)
    for part in schema.get("$defs", {}).values():
        if "properties" in part:
            part["additionalProperties"] = False
    chosen = list(FORMS[command]).index(when)
    return {**schema["anyOf"][chosen], "$defs": schema.get("$defs", {})} if "anyOf" in schema else schema


@pytest.mark.parametrize("family", FAMILIES)
def test_outputs_are_what_their_schema_says(family: str, lived_in: LivedIn) -> None:
    for case in CASES:
        if case.command.split()[0] != family:
            continue
        done = lived_in.run(case.command, case.words)
        told = f"alula {case.command} {case.words}: {done.stdout[-600:]} {done.stderr[-600:]}"
        assert done.exit_code in case.codes, told
        for text in done.stdout.splitlines() if case.command == "jobs logs" else [done.stdout]:
            try:
                jsonschema.validate(json.loads(text), closed_schema(case.command, case.when))
            except jsonschema.ValidationError as error:
                pytest.fail(f"{told}\n{error.message} at {error.json_path}")


def test_every_command_with_json_has_its_forms_and_a_case() -> None:
    assert set(commands(alula, ())) == set(FORMS)
    assert {(case.command, case.when) for case in CASES} <= {(name, when) for name in FORMS for when in FORMS[name]}
    assert {case.command for case in CASES} | set(ELSEWHERE) == set(FORMS)


def commands(command: click.Command, path: tuple[str, ...]) -> Iterator[str]:
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            if (inner := command.get_command(context, name)) is not None:
                yield from commands(inner, (*path, name))
    if any("--json" in option.opts for option in command.params):
        yield " ".join(path)


def test_schemas_are_sound_and_printed() -> None:
    printed = json.loads(CliRunner().invoke(alula, ["schema"]).stdout)
    assert set(printed) == set(FORMS)
    for schema in printed.values():
        jsonschema.Draft202012Validator.check_schema(schema)
    assert json.loads(CliRunner().invoke(alula, ["schema", "jobs", "list"]).stdout) == printed["jobs list"]
    wrong = CliRunner().invoke(alula, ["schema", "jobs", "lst"])
    assert wrong.exit_code == 2 and "alula schema jobs list" in wrong.stderr


def test_errors_too_are_json() -> None:
    done = subprocess.run([sys.executable, "-m", "console", "jobs", "show", "7", "--json"], capture_output=True,
                          env={"PATH": "/usr/bin:/bin", "ALULA_HOME": "/proc/no"})  # fmt: skip
    assert done.returncode == 2
    assert set(json.loads(done.stderr)) == {"error", "remedy"}


def test_the_document_is_current() -> None:
    told = "python -m console.json_forms.document > docs/json.md"
    assert (Path(__file__).parents[2] / "docs" / "json.md").read_text(encoding="utf-8") == document(), told
