"""A training by SpecForge before it starts: configuration, commands, estimates, what stands against it."""

import json
import os
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml
from click.testing import CliRunner

from console.command_line.train import train
from engine.reference.checkpoint import shipped_draft, shipped_target
from engine.train.checkpoints import find_checkpoints
from engine.train.specforge.configuration import command, preparation, run_config
from engine.train.specforge.estimates import draft_parameters, hidden_state_bytes, memory
from engine.train.specforge.plan import CannotPlan, TrainingPlan
from engine.train.specforge.preparing import environment_of
from engine.train.specforge.problems import Surroundings, problems, standing
from engine.train.store import JOBS, all_progress, plans, read_plan, training_folder, write_plan
from state.database import open_database
from state.folder import StateFolder, make_private
from state.jobs import add_job
from state.records.jobs import Job

DRAFT = {
    "hidden_size": 4096, "num_attention_heads": 32, "num_key_value_heads": 8, "head_dim": 128, "vocab_size": 128_256,
    "intermediate_size": 14_336, "draft_vocab_size": 32_000,
    "eagle_config": {"eagle_aux_hidden_state_layer_ids": [1, 15, 28]},
}  # fmt: skip


def _plan(folder: Path = Path("/t/x"), **more: Any) -> TrainingPlan:
    given = {"name": "x", "folder": folder, "target": "/m/L", "draft": DRAFT, "data": Path("/d.jsonl"), "samples": 1000}
    return TrainingPlan(**(given | more))


ONLINE = {"vocabulary_map": Path("/v.pt"), "trainer_gpus": (0, 1), "capture_gpus": (2, 3)}


def test_an_offline_training_is_one_process_group() -> None:
    config = run_config(_plan(hidden_states=Path("/hs")))
    assert config["deployment"] == {"mode": "local_colocated", "trainer": {"nnodes": 1, "nproc_per_node": 1}}
    assert config["data"]["hidden_states_path"] == "/hs" and "train_data_path" not in config["data"]
    assert config["model"]["aux_hidden_state_layer_ids"] == [1, 15, 28]


def test_an_online_training_captures_on_gpus_of_its_own() -> None:
    config = run_config(_plan(**ONLINE))
    stack = config["deployment"]["disaggregated"]
    assert stack["backend"] == "mooncake"
    assert stack["managed_local"]["trainer_cuda_visible_devices"] == ["0", "1"]
    (server,) = stack["managed_local"]["capture_servers"]
    assert (server["cuda_visible_devices"], server["tp_size"]) == (["2", "3"], 2)
    assert config["data"]["train_data_path"] == "/d.jsonl"


def test_the_script_before_july_2026_takes_flags() -> None:
    words = command(
        _plan(trainer="specforge-old", checkout=Path("/sf"), hidden_states=Path("/hs"), trainer_gpus=(0, 1))
    )
    assert words[:6] == ["python", "-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2"]
    assert words[6] == "/sf/scripts/train_eagle3.py"
    assert words[words.index("--train-hidden-states-path") + 1] == "/hs"
    assert command(_plan()) == ["specforge", "train", "-c", "/t/x/run.yaml"]


def test_the_script_before_july_2026_counts_batches() -> None:
    words = command(_plan(trainer="specforge-old", max_steps=30, accumulation=4))
    assert words[words.index("--max-num-steps") + 1] == "120"


def test_hidden_states_are_captured_as_each_release_asks() -> None:
    new = preparation(_plan(), Path("/hs"))
    assert new[new.index("--draft-model-config") + 1] == "/t/x/draft.json"
    assert "--enable-aux-hidden-states" not in new
    old = preparation(_plan(trainer="specforge-old"), Path("/hs"))
    assert "--strategy" not in old and "--draft-model-config" not in old
    assert old[old.index("--aux-hidden-states-layers") + 1] == "1,15,28"


@pytest.mark.parametrize(
    ("gpus", "heads", "samples", "shared", "batch"),
    [(4, 32, 1000, 4, 32), (6, 32, 1000, 2, 32), (3, 32, 1000, 1, 32), (2, None, 9, 2, 9), (4, 6, 9, 2, 4)],
)
def test_gpus_share_a_target_where_they_divide_its_heads_and_no_batch_is_larger_than_the_data(
    gpus: int, heads: int | None, samples: int, shared: int, batch: int
) -> None:
    words = preparation(_plan(trainer_gpus=tuple(range(gpus)), samples=samples), Path("/hs"), heads=heads)
    assert words[words.index("--tp-size") + 1 :] == [str(shared), "--batch-size", str(batch)]


def test_steps_follow_from_samples_epochs_and_batch() -> None:
    assert _plan(epochs=10, batch=2, accumulation=5, trainer_gpus=(0, 1)).total_steps == 500
    assert _plan(max_steps=70).total_steps == 70
    assert _plan(samples=None).total_steps is None


def test_hidden_states_take_four_states_a_token() -> None:
    assert hidden_state_bytes(1, 7168) == 57_344 + 16
    assert hidden_state_bytes(300_000 * 2048, 7168) / 1e12 == pytest.approx(35, abs=0.5)


def test_memory_counts_what_is_trained_sixteenfold() -> None:
    found = memory(DRAFT, 2048, 7)
    assert draft_parameters(DRAFT) == 424_673_280
    assert found.draft == 16 * 424_673_280
    assert found.total == found.draft + found.frozen + found.teacher + found.unrolled
    assert memory(DRAFT, 4096, 7).teacher == 2 * found.teacher


@pytest.mark.parametrize(
    ("more", "around", "name"),
    [
        ({**ONLINE, "capture_gpus": ()}, {}, "train-no-capture-gpu"),
        ({**ONLINE, "capture_gpus": (1, 2)}, {}, "train-gpus-shared"),
        ({**ONLINE, "vocabulary_map": None}, {}, "train-no-vocabulary-map"),
        ({**ONLINE, "resume_from": Path("/c")}, {}, "train-cannot-resume"),
        ({"tokens": 10**9}, {"preparing": True, "hidden": 4096, "free_disk": 10**12}, "train-disk-too-small"),
        ({}, {"gpu_memory": 8 * 10**9}, "train-memory-too-small"),
        ({}, {"context": 2048}, "train-context-too-short"),
        ({}, {"program_found": False}, "train-no-specforge"),
        ({}, {"states_found": False}, "train-no-states"),
        ({}, {"differs": ("epochs 10",)}, "train-resume-differs"),
        ({"trainer": "specforge-old", "save_interval": 0}, {}, "train-no-checkpoints"),
        ({**ONLINE, "capture_gpus": (2, 3, 4)}, {"heads": 32}, "train-capture-gpus-uneven"),
    ],
)
def test_what_stands_against_it_can_be_overridden_by_name(more: Any, around: Any, name: str) -> None:
    offline = {} if ONLINE.keys() & more.keys() else {"hidden_states": Path("/hs")}
    found = problems(_plan(**offline, **more), Surroundings(**around))
    assert [one.name for one in standing(found, [])] == [name]
    assert standing(found, [name]) == []


def test_nothing_stands_against_a_sound_plan() -> None:
    assert problems(_plan(**ONLINE), Surroundings(gpu_memory=80 * 10**9, context=8192)) == []


def test_a_plan_is_read_as_it_was_written(tmp_path: Path) -> None:
    plan = _plan(tmp_path / "x", hidden_states=Path("/hs"))
    write_plan(plan)
    assert read_plan(plan.folder) == plan
    assert yaml.safe_load((plan.folder / "run.yaml").read_text()) == run_config(plan)


def test_a_plan_that_cannot_be_read_hides_no_other(tmp_path: Path) -> None:
    state = StateFolder(path=make_private(tmp_path / "home"))
    for name in ("sound", "damaged"):
        write_plan(_plan(training_folder(state, name), name=name))
    path = training_folder(state, "damaged") / "training.json"
    path.write_text(path.read_text().replace("specforge", "spec9"))
    with pytest.raises(CannotPlan, match=r"training.json cannot be read: Invalid enum value 'spec9'"):
        read_plan(path.parent)
    assert [plan.name for plan in plans(state)] == ["sound"]
    with closing(open_database(state.database_path)) as database:
        found = {one.name: one.state for one in all_progress(database, state)}
    assert found == {"sound": "planned", "damaged": "unreadable"}


def test_checkpoints_of_all_layouts_are_found_by_step(tmp_path: Path) -> None:
    for name, files in (
        ("x-step200", ["training_state.pt"]),
        ("epoch_0_step_50", ["config.json", "model.safetensors", "training_state.pt"]),
        ("reference-step1000", ["config.json", "model.safetensors"]),
        (".reference-step7.part", ["config.json", "model.safetensors"]),
        ("x-step9", []),
    ):
        (tmp_path / name).mkdir()
        for file in files:
            (tmp_path / name / file).touch()
    (tmp_path / "x-step300").symlink_to("x-step200")
    found = find_checkpoints(tmp_path)
    assert [(one.step, one.form) for one in found] == [(50, "servable"), (200, "runtime"), (1000, "servable")]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ALULA_HOME", str(tmp_path / "home"))
    return tmp_path


def _start(home: Path, *more: str) -> Any:
    data = home / "train.jsonl"
    row = {"id": "1", "conversations": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]}
    data.write_text((json.dumps(row) + "\n") * 10)
    (home / "train.manifest.json").write_text(json.dumps({"model": "other/model", "completion_tokens": 90}))
    given = ["start", "--target", str(shipped_target()), "--data", str(data), "--dry-run", *more]
    return CliRunner().invoke(train, given)


def test_a_dry_run_says_all_and_writes_nothing(home: Path) -> None:
    run = _start(home, "--offline", "--max-length", "1024", "--json")
    said = json.loads(run.stdout)
    names = {one["name"] for one in said["problems"]}
    assert run.exit_code == 1 and "train-no-specforge" in names
    assert "train-data-not-regenerated" in names, "the manifest names another model than the target"
    assert said["hidden_state_bytes"] == 90 * (4 * 192 * 2 + 16)
    assert said["plan"]["tokens"] == 90 and said["started"] is None
    assert not (home / "home" / "trainings").exists()


def _begun(home: Path, **changes: Any) -> TrainingPlan:
    """A training that has a checkpoint."""
    said = json.loads(_start(home, "--offline", "--max-length", "1024", "--json").stdout)["plan"]
    plan = _plan(
        Path(said["folder"]),
        **{name: said[name] for name in ("name", "target", "draft", "samples", "epochs", "max_length")},
        hidden_states=Path(said["folder"]) / "hidden-states",
    )
    write_plan(msgspec.structs.replace(plan, **changes))
    (plan.output / "train-step5").mkdir(parents=True)
    (plan.output / "train-step5" / "training_state.pt").touch()
    return plan


def test_going_on_writes_no_states_again_since_their_map_would_be_another(home: Path) -> None:
    plan = _begun(home)
    states = home / "home" / "trainings" / "train" / "hidden-states" / "rows_0-2000"
    states.mkdir(parents=True)
    (states / "data_0.ckpt").touch()
    said = json.loads(_start(home, "--offline", "--max-length", "1024", "--resume", "--json").stdout)
    assert said["preparation"] == [] and said["config"]["training"]["resume_from"].endswith("train-step5")
    assert not {"train-no-states", "train-resume-differs"} & {one["name"] for one in said["problems"]}
    assert plan.output.is_dir()


def test_going_on_otherwise_than_it_was_begun_is_told(home: Path) -> None:
    _begun(home, epochs=3, trainer_gpus=(0, 1))
    said = json.loads(_start(home, "--offline", "--max-length", "1024", "--resume", "--json").stdout)
    found = {one["name"]: one["message"] for one in said["problems"]}
    assert "epochs 3; 2 GPUs" in found["train-resume-differs"]
    assert "train-no-states" in found


def test_an_online_training_gets_a_fresh_folder_for_its_processes(home: Path) -> None:
    (home / "home" / "trainings" / "train" / "control").mkdir(parents=True)
    said = json.loads(_start(home, "--capture-gpus", "1", "--max-length", "1024", "--json").stdout)
    assert said["config"]["deployment"]["disaggregated"]["control_dir"].endswith("/train/control-2")


def test_the_environment_of_a_checkout_goes_before_the_path(tmp_path: Path) -> None:
    folder = tmp_path / ".venv" / "bin"
    folder.mkdir(parents=True)
    for name in ("specforge", "python"):
        (folder / name).touch()
    assert environment_of(tmp_path) == (str(folder / "specforge"), str(folder / "python"))
    assert Path(environment_of(None)[1]).is_absolute()


def test_a_training_at_work_is_not_started_again(home: Path) -> None:
    plan = _begun(home)
    state = StateFolder(path=make_private(home / "home"))
    with closing(open_database(state.database_path)) as database:
        run_folder = str(plan.folder / JOBS / "1")
        add_job(database, Job(name="train", kind="train", argv=("true",), working_dir="/", run_folder=run_folder,
                              created_at=1.0))  # fmt: skip
    given = ["start", "--target", str(shipped_target()), "--data", str(home / "train.jsonl"), "--resume"]
    run = CliRunner().invoke(train, given)
    assert run.exit_code == 2 and "train is at work as job 1" in run.stderr


def test_a_draft_config_for_another_target_is_found(home: Path) -> None:
    config = json.loads((shipped_draft() / "config.json").read_text()) | {"hidden_size": 256, "target_hidden_size": 256}
    file = home / "draft.json"
    file.write_text(json.dumps(config))
    run = _start(home, "--offline", "--max-length", "1024", "--draft-config", str(file), "--json")
    assert run.exit_code == 1
    assert json.loads(run.stdout)["plan"]["draft"]["hidden_size"] == 256


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (("--gpus", "a"), "not GPU indices"),
        (("--name", "../x"), "no name for a training"),
        (("--resume",), "no checkpoint to go on from"),
        (("--name", "a\nb"), "no name for a training"),
        (("--name", "x" * 300), "no name for a training"),
        (("--gpus", ""), "no GPU to train on"),
        (("--gpus", "0,0"), "an index twice"),
        (("--capture-gpus=-1",), "none that a GPU has"),
        (("--learning-rate", "nan"), "a learning rate of nan"),
        (("--specforge", "/nowhere"), "there is no such folder"),
    ],
)
def test_what_cannot_be_planned_says_why(home: Path, more: tuple[str, ...], said: str) -> None:
    run = _start(home, *more)
    assert run.exit_code == 2
    assert said in run.stderr


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[1,2", "delimiter"),
        ("[1]", "no draft config"),
        ("[" * 100_000, "recursion"),
        ('{"hidden_size": 4096}', "num_attention_heads is missing"),
        ('{"hidden_size": "big"}', "hidden_size is big"),
        ('{"hidden_size": 8, "num_attention_heads": 0}', "num_attention_heads is 0"),
        (
            '{"hidden_size": 8, "num_attention_heads": 1, "vocab_size": 9, "intermediate_size": 8, "head_dim": -1}',
            "head_dim is -1",
        ),
    ],
)
def test_a_draft_config_that_makes_no_sense_is_told(home: Path, text: str, said: str) -> None:
    file = home / "draft.json"
    file.write_text(text)
    run = _start(home, "--draft-config", str(file))
    assert run.exit_code == 2 and said in run.stderr and "alula train config" in run.stderr


@pytest.mark.parametrize("content", [b"\x00\xff\n", b'{"id": 1}\n', b"[" * 100_000 + b"\n", b'{"conversations": 3}\n'])
def test_data_that_holds_no_conversation_is_told(home: Path, content: bytes) -> None:
    data = home / "rubbish.jsonl"
    data.write_bytes(content)
    run = CliRunner().invoke(train, ["start", "--target", str(shipped_target()), "--data", str(data), "--dry-run"])
    assert run.exit_code == 2 and "begins with a line that is no conversation" in run.stderr


def test_a_pipe_as_data_is_not_waited_for(home: Path) -> None:
    os.mkfifo(home / "pipe.jsonl")
    given = ["start", "--target", str(shipped_target()), "--data", str(home / "pipe.jsonl"), "--dry-run"]
    run = CliRunner().invoke(train, given)
    assert run.exit_code == 2 and "no regular file" in run.stderr
