"""Recipes are read, and refused with file, line and reason; a mistake in one does not stop the others."""

from pathlib import Path

import pytest

from engine.jobs.recipes.catalogue import load_catalogue, save_as
from engine.jobs.recipes.positions import line_of
from engine.jobs.recipes.reading import read_recipe
from engine.jobs.recipes.records import RecipeMistake
from state.errors import StateError

GOOD = """\
name = "mine"
kind = "serve"
argv = [
  "serve", "--port", "{port}",
  ["--model", "{model}"],
  { when = "fast", argv = ["--fast"] },
  "{extra...}",
]

[parameters]
port = { type = "port", default = 8000 }
model = { type = "path" }
fast = { type = "bool", default = true }
extra = { type = "list" }
"""


def changed(old: str, new: str) -> str:
    assert old in GOOD
    return GOOD.replace(old, new)


@pytest.mark.parametrize(
    ("text", "line", "reason"),
    [
        ("name = ", 1, "is no TOML"),
        ('name = "x"\n\nargv = ["x"\n', 3, "is no TOML"),
        (changed('kind = "serve"', 'kind = "server"'), 2, "kind: Invalid enum value 'server'"),
        (changed('kind = "serve"', 'knd = "serve"'), 2, "no key 'knd'"),
        (changed('"{model}"', '"{modell}"'), 5, "no parameter 'modell'"),
        (changed('["--model", "{model}"]', '"--model", "{model}"'), 5, "into a group"),
        (changed('"{extra...}"', '"x={extra...}"'), 7, "the whole word"),
        (changed('"serve",', '"ser{ve",'), 4, "stands alone"),
        (changed('when = "fast"', 'if = "fast"'), 3, "condition is wrong"),
        (changed("default = 8000", "default = 80000"), 11, "the default of 'port'"),
        (changed("default = true", 'default = "yes"'), 13, "is no bool"),
        (changed('type = "path"', 'type = "pth"'), 12, "parameters.model.type"),
        (changed('type = "path"', 'typ = "path"'), 12, "no key 'typ'"),
        (changed('type = "path"', 'type = "choice"'), 12, "no choices"),
        (changed('type = "path"', 'pattern = "("'), 12, "no regular expression"),
        (GOOD + "\n[ready]\nlog = '('\n", 17, "no regular expression"),
        (GOOD + "\n[[metrics]]\nname = 'x'\npattern = 'x'\n", 18, "no group"),
        (GOOD + "\n[resources]\nmemory = 'much'\n", 17, "no amount of memory"),
        (GOOD + "\n[resources]\ngpus = ['model']\n", 17, "no parameter of type int"),
        (GOOD + "\n[environment]\nX = '{nope}'\n", 17, "no parameter 'nope'"),
        (changed('name = "mine"', 'name = "Mine!"'), 1, "cannot be a name"),
        (changed('"serve",', "7,"), 4, "is no text"),
        ('name = "x"\n', 1, "no argv"),
        ('name = "x"\nargv = ["a"]\nextends = "y"\n', 3, "`values` only"),
        ('name = "x"\nargv = ["{python}"]\n', 2, "no [interpreter]"),
    ],
)
def test_a_mistake_is_named(text: str, line: int, reason: str) -> None:
    with pytest.raises(RecipeMistake) as caught:
        read_recipe(text, "mine.toml")
    assert reason in caught.value.reason
    assert (caught.value.source, caught.value.line) == ("mine.toml", line), str(caught.value)


def test_others_still_load(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text(GOOD)
    (tmp_path / "b.toml").write_text("name = 3")
    (tmp_path / "c.toml").write_text(GOOD)
    (tmp_path / "d.toml").write_bytes(b"\xff\xfe\x00")
    (tmp_path / "e.toml").mkdir()
    (tmp_path / "f.toml").write_text('name = "f"\nextends = "nobody"\n')
    (tmp_path / "g.toml").write_text('name = "g"\nextends = "mine"\n[values]\nport = "x"\n')
    (tmp_path / "h.toml").write_text('name = "h"\nextends = "h"\n')
    catalogue = load_catalogue(tmp_path)
    assert "mine" in catalogue.recipes and "sglang-eagle3" in catalogue.recipes
    found = [(Path(one.source).name, one.line) for one in catalogue.mistakes]
    assert found == [("b.toml", 1), ("c.toml", 1), ("d.toml", None), ("e.toml", None), ("f.toml", 2), ("g.toml", 4),
                     ("h.toml", 2)]  # fmt: skip
    with pytest.raises(StateError, match=r"b\.toml:1"):
        catalogue.find("b")


def test_own_recipes_extend_and_replace(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text('name = "kimi"\nextends = "sglang-server"\n[values]\ntp = 8\nmodel = "/m"\n')
    (tmp_path / "b.toml").write_text('name = "two"\nextends = "kimi"\n[values]\ntp = 4\n')
    (tmp_path / "c.toml").write_text(
        'name = "command"\nextends = "command"\nhelp = "ours"\n[values]\ncommand = ["ls"]\n'
    )
    found = load_catalogue(tmp_path)
    assert found.mistakes == ()
    two = found.find("two")
    assert (two.parameters["tp"].default, two.parameters["model"].default, two.extends) == (4, "/m", "sglang-server")
    assert found.find("command").help == "ours" and not found.find("command").built_in
    assert found.find("command").parameters["command"].default == ("ls",)


def test_saving(tmp_path: Path) -> None:
    recipe = load_catalogue(tmp_path).find("bench-one-batch-server")
    save_as("small", recipe, {"model": "/m", "batch_size": ("1", "2")}, tmp_path)
    saved = load_catalogue(tmp_path).find("small")
    assert saved.parameters["batch_size"].default == ("1", "2")
    for name in ("small", "command", "../x", ""):
        with pytest.raises(StateError):
            save_as(name, recipe, {}, tmp_path)


def test_lines_of_keys() -> None:
    text = 'a = """\nb = 1\n"""\nc = [\n  "[d]",\n]\n[t.u]\n"e" = 1\n[[v]]\nf = { g = 1 }\n[[v]]\nf = 2\n'
    assert [line_of(text, path) for path in (("a",), ("b",), ("c",), ("t", "u", "e"))] == [1, None, 4, 8]
    assert [line_of(text, path) for path in (("v", 1, "f"), ("v", 0, "f", "g"), ("v", 0, "f", "z"))] == [12, 10, 10]
