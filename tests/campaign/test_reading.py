"""Campaign files: good ones, and slips of every kind."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from console.command_line.root import alula
from engine.campaign.reading import read_specification
from engine.campaign.specification import CampaignError
from engine.campaign.subset import write_subset
from engine.campaign.training import without_length

GOOD = """
name = "c"
[target]
model = "owner/name"
[data]
prompts = ["p.jsonl"]
[bench]
prompts = "p.jsonl"
"""


def file(folder: Path, text: str) -> Path:
    (folder / "p.jsonl").write_text('{"prompt": "x"}\n')
    path = folder / "c.toml"
    path.write_text(text)
    return path


def test_paths_are_made_absolute_and_a_repository_stays_one(tmp_path: Path) -> None:
    found = read_specification(file(tmp_path, GOOD))
    assert found.data.prompts == (str(tmp_path / "p.jsonl"),) and found.target.model == "owner/name"
    assert found.train is None


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('name = "c"', 'name = "../c"', "cannot be used"),
        ('name = "c"', 'nam = "c"', "nam"),
        ('name = "c"', "name = [", "not TOML"),
        ('name = "c"', 'name = "c"\nspeedup = 0.5', "goal of 0.5x"),
        ('prompts = ["p.jsonl"]', 'prompts = ["q.jsonl"]', "there is no file"),
        ('prompts = ["p.jsonl"]', 'prompts = ["p.jsonl"]\nplan = "p.jsonl"', "not both"),
        ('prompts = "p.jsonl"', 'prompts = "p.jsonl"\nnum_steps = []', "start at 1"),
        ("[bench]", "[train]\nsamples = [5, 5]\n[bench]", "twice"),
        ("[bench]", "[train]\nsamples = [0]\n[bench]", "below 1"),
        ("[bench]", "[regenerate]\nheld_out = 30\n[bench]", "held_out is 0 to 0.5"),
        ("[bench]", '[draft]\npath = "/nowhere"\n[bench]', "config.json"),
        ("[target]", "[target]\nreference = true", "config.json"),
        ("[bench]", "[limits]\nhours = nan\n[bench]", "[limits] hours"),
        ("[bench]", "[limits]\nprice_per_gpu_hour = inf\n[bench]", "price_per_gpu_hour"),
        ("[bench]", "[forecast]\nat = [-1.0]\n[bench]", "[forecast] at"),
        ("[bench]", "[train]\nsamples = [99999999999999999999]\n[bench]", "[train] samples"),
        ("[target]", "[target]\ngpus = -1", "[target] gpus"),
        ("[bench]", "[regenerate]\ntemperature = -0.5\n[bench]", "temperature"),
    ],
)
def test_a_slip_is_told_with_what_to_do(old: str, new: str, says: str, tmp_path: Path) -> None:
    path = file(tmp_path, GOOD.replace(old, new, 1))
    with pytest.raises(CampaignError) as caught:
        read_specification(path)
    assert says in str(caught.value) and caught.value.remedy
    done = CliRunner().invoke(alula, ["campaign", "start", str(path)], env={"ALULA_HOME": str(tmp_path / "home")})
    assert done.exit_code == 2 and "Traceback" not in done.output


@pytest.mark.parametrize("content", [b"\xff\xfe", b"\x00" * 100, b"a" * 2_000_000])
def test_rubbish_is_refused(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "c.toml"
    path.write_bytes(content)
    with pytest.raises(CampaignError):
        read_specification(path)


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CampaignError):
        read_specification(tmp_path / "none.toml")


def test_an_untrained_draft_loses_the_options_of_length() -> None:
    given = ["--steps", "9", "--depth", "3", "--seconds=5", "--epochs", "2", "--seed", "1"]
    assert without_length(given) == ["--depth", "3", "--seed", "1"]


def test_subsets_lie_within_one_another(tmp_path: Path) -> None:
    source = tmp_path / "all.jsonl"
    source.write_text("".join(f"line {number}\n" for number in range(200)))
    write_subset(source, tmp_path / "small", 20)
    write_subset(source, tmp_path / "large", 100)
    small, large = ((tmp_path / name).read_text().splitlines() for name in ("small", "large"))
    assert (len(small), len(large)) == (20, 100) and set(small) <= set(large)
    with pytest.raises(CampaignError, match="holds 200 samples"):
        write_subset(source, tmp_path / "more", 201)
