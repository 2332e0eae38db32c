"""The reference trainer: its gradients, shapes and map, that it learns, and that it goes on where it was."""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy
import pytest

from engine.reference.checkpoint import DRAFT_CLASS, TARGET_CLASS, read_checkpoint, shipped_draft, shipped_target
from engine.reference.training.settings import CannotTrain, TrainingResult, TrainingSettings

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.train


@pytest.fixture(autouse=True)
def one_thread() -> None:
    torch.set_num_threads(1)


def _data(folder: Path, count: int = 48) -> Path:
    path = folder / "data.jsonl"
    rows = [[{"role": "user", "content": f"def f{n}():"}, {"role": "assistant", "content": f"\n    return {n} + {n}"}]
            for n in range(count)]  # fmt: skip
    path.write_text("".join(json.dumps({"conversations": row}) + "\n" for row in rows))
    return path


def _train(folder: Path, lines: list[str] | None = None, **more: Any) -> TrainingResult:
    from engine.reference.training.run import train_reference_draft

    stop = more.pop("stop", lambda: False)
    given = {"data": (_data(folder),), "output": folder / "run", "depth": 3, "steps": 12, "held_out": 0.2, "batch": 4}
    return train_reference_draft(TrainingSettings(**(given | more)), (lines if lines is not None else []).append, stop)


def _tiny() -> Any:
    from engine.reference.training.shapes import Shape

    return Shape(vocabulary=40, draft_vocabulary=24, hidden=8, layers=8, heads=4, key_value_heads=2, head_width=4,
                 intermediate=12, draft_intermediate=12, context=64)  # fmt: skip


def _pair(seed: int = 3) -> tuple[Any, Any, Any, Any]:
    from engine.reference.training.models import new_draft, new_target

    torch.manual_seed(seed)
    shape = _tiny()
    target = {name: tensor.double() * 8 for name, tensor in new_target(shape).items()}
    draft = {name: tensor.double() * 4 for name, tensor in new_draft(shape).items()}
    return shape, target, draft, torch.randperm(40)[:24].sort().values


def _loss(draft: Any, target: Any, covered: Any, shape: Any, tokens: Any, answers: Any) -> Any:
    from engine.reference.training.draft_loss import draft_loss

    return draft_loss(draft, target, tokens, answers, covered, shape, 3)


def test_gradients_are_those_of_finite_differences() -> None:
    shape, target, draft, covered = _pair()
    tokens = torch.randint(0, 40, (2, 9))
    answers = torch.ones(2, 9, dtype=torch.bool)
    weights = {name: tensor.clone().requires_grad_() for name, tensor in draft.items()}
    _loss(weights, target, covered, shape, tokens, answers).loss.backward()
    for name, tensor in weights.items():
        place = tuple(torch.randint(0, size, ()).item() for size in tensor.shape)
        moved = []
        for by in (1e-4, -1e-4):
            other = {key: one.clone() for key, one in draft.items()}
            other[name][place] += by
            moved.append(float(_loss(other, target, covered, shape, tokens, answers).loss))
        # Norms are computed in float32 as they are served, so differences carry that noise.
        assert float(tensor.grad[place]) == pytest.approx((moved[0] - moved[1]) / 2e-4, abs=2e-2), name
        assert float(tensor.grad.abs().sum()) > 0, f"{name} learns nothing"


def test_padding_and_prompts_change_nothing() -> None:
    shape, target, draft, covered = _pair()
    tokens, answers = torch.randint(0, 40, (1, 12)), torch.arange(12)[None] >= 5
    one = _loss(draft, target, covered, shape, tokens, answers)
    longer = torch.cat([tokens, torch.randint(0, 40, (1, 5))], dim=1)
    two = _loss(draft, target, covered, shape, longer, torch.nn.functional.pad(answers, (0, 5)))
    assert torch.allclose(one.loss, two.loss)
    assert one.counted.tolist() == [7, 7, 7]


def test_shapes_by_depth() -> None:
    shape, target, draft, covered = _pair()
    outcome = _loss(draft, target, covered, shape, torch.randint(0, 40, (2, 9)), torch.ones(2, 9, dtype=torch.bool))
    assert outcome.named.shape == (3, 2, 7)
    assert {tuple(one.shape) for one in (outcome.losses, outcome.agreement, outcome.overlap)} == {(3,)}
    assert set(outcome.named.flatten().tolist()) <= set(covered.tolist())
    assert outcome.counted.tolist() == [14, 12, 10], "no chain is longer than the text before it"


def test_the_map_covers_the_likeliest_tokens_in_rising_order() -> None:
    from engine.reference.training.vocabulary_map import likely_tokens, map_tensors

    covered = likely_tokens([numpy.array([9, 9, 9, 4, 4, 7])], 12, 4)
    assert covered.tolist() == [0, 4, 7, 9], "ids that never occur come last, the lowest first"
    tensors = map_tensors(covered, 12)
    assert (torch.arange(4) + tensors["d2t"]).tolist() == tensors["t2d"].nonzero().flatten().tolist() == [0, 4, 7, 9]


def test_it_learns_and_writes_what_can_be_served(tmp_path: Path) -> None:
    from engine.reference.draft import Draft
    from engine.reference.target import Target

    lines: list[str] = []
    result = _train(tmp_path, lines, steps=60, log_every=1, learning_rate=5e-3)
    losses = [float(line.split("'loss': ")[1].split(",")[0]) for line in lines if "'loss'" in line]
    assert sum(losses[-5:]) < 0.6 * sum(losses[:5])
    assert result.held_out is not None and min(result.held_out.accuracy) > 0.5, "it foresees what the target would say"
    assert result.held_out.samples + result.samples == 48
    draft = read_checkpoint(result.checkpoint, DRAFT_CLASS)
    target = Target(read_checkpoint(shipped_target(), TARGET_CLASS), 8, (2, 4, 5))
    Draft(draft, target, 8, own_head=True)
    assert draft.tensors["fc.weight"].shape == (192, 3 * 192)
    assert (tmp_path / "run" / "reference-latest").resolve() == result.checkpoint


def test_a_stopped_run_goes_on_and_ends_as_if_it_had_not_stopped(tmp_path: Path) -> None:
    from engine.reference.training.run import Stopped

    for name in ("whole", "stopped"):
        (tmp_path / name).mkdir()
    whole = _train(tmp_path / "whole")
    asked: list[int] = []
    with pytest.raises(Stopped) as stop:
        _train(tmp_path / "stopped", stop=lambda: asked.append(1) or len(asked) == 5)
    assert stop.value.checkpoint.name == "reference-step5"
    lines: list[str] = []
    again = _train(tmp_path / "stopped", lines, resume=True)
    assert lines[0] == "resumed from step 5"
    one, two = (read_checkpoint(result.checkpoint, DRAFT_CLASS).tensors for result in (whole, again))
    assert all(numpy.allclose(one[name], two[name], atol=1e-3) for name in one)
    assert whole.held_out == again.held_out


def test_a_torn_checkpoint_is_passed_over(tmp_path: Path) -> None:
    _train(tmp_path, steps=8, save_every=4)
    (tmp_path / "run" / "reference-step8" / "training_state.pt").write_bytes(b"torn")
    lines: list[str] = []
    _train(tmp_path, lines, steps=8, save_every=4, resume=True)
    assert lines[0] == "resumed from step 4"


def test_a_run_is_not_gone_on_with_otherwise(tmp_path: Path) -> None:
    _train(tmp_path)
    with pytest.raises(CannotTrain, match="holds a run already"):
        _train(tmp_path)
    with pytest.raises(CannotTrain, match="depth was 3, is 4"):
        _train(tmp_path, depth=4, resume=True)


def test_a_draft_is_gone_on_with_under_its_own_map(tmp_path: Path) -> None:
    result = _train(tmp_path, start=shipped_draft(), learning_rate=1e-5)
    first, now = (read_checkpoint(folder, DRAFT_CLASS).tensors for folder in (shipped_draft(), result.checkpoint))
    assert numpy.array_equal(first["d2t"], now["d2t"])
    assert numpy.allclose(first["fc.weight"], now["fc.weight"], atol=2e-3)


def test_what_cannot_be_trained_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "target"
    shutil.copytree(shipped_target(), folder)
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"architectures": ["Qwen3ForCausalLM"]}))
    with pytest.raises(CannotTrain, match="Qwen3ForCausalLM"):
        _train(tmp_path, target=folder)
    with pytest.raises(CannotTrain, match="after steps, epochs or seconds"):
        _train(tmp_path, steps=None)
    with pytest.raises(CannotTrain, match="--learning-rate nan"):
        _train(tmp_path, learning_rate=float("nan"))
