"""The training text; and, where torch is installed, that numpy and transformers agree, and that training runs."""

from pathlib import Path

import numpy
import pytest

from engine.reference.checkpoint import DRAFT_CLASS, TARGET_CLASS, read_checkpoint, shipped_draft, shipped_target
from engine.reference.draft import Draft
from engine.reference.target import Target
from engine.reference.training.corpus import chats
from engine.reference.vocabulary import Vocabulary

SOURCE = '''
class Pair:
    def swapped(self, by=1):
        """Return the pair in reverse.

        More words.
        """
        first, second = self
        return second, first

    def empty(self): pass
'''


def test_chats_ask_for_a_header_and_answer_with_the_body() -> None:
    found = [turns for seed in range(20) for turns in chats([SOURCE], seed)]
    for turns in found:
        answers = [answer for asked, answer in turns if "def swapped" in asked]
        assert answers == ["    first, second = self\n    return second, first"]
        assert {answer for asked, answer in turns if "def swapped" not in asked} <= {"Return the pair in reverse."}
    assert len(found) == 20, "a function on one line has no body to ask for"
    assert any(len(turns) == 2 for turns in found)


def test_broken_source_gives_nothing() -> None:
    assert chats(["def broken(:\n", "x = '\0'"], 1) == []


@pytest.mark.train
def test_target_logits_equal_those_of_transformers() -> None:
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    model = transformers.AutoModelForCausalLM.from_pretrained(shipped_target(), dtype=torch.float32)
    assert type(model).__name__ == TARGET_CLASS
    tokens = Vocabulary(shipped_target()).encode(SOURCE * 12)
    target = Target(read_checkpoint(shipped_target(), TARGET_CLASS), len(tokens))
    states = target.forward(numpy.array([tokens]), numpy.arange(len(tokens))[None], target.new_cache(1, len(tokens)), 0)
    with torch.no_grad():
        wanted = model(torch.tensor([tokens])).logits[0].numpy()
    assert numpy.abs(target.logits(states.final)[0] - wanted).max() < 1e-3


@pytest.mark.train
def test_tokens_and_chat_template_equal_those_of_transformers() -> None:
    transformers = pytest.importorskip("transformers")
    tokenizer = transformers.AutoTokenizer.from_pretrained(shipped_target())
    messages = [{"role": "user", "content": "def f():"}, {"role": "assistant", "content": "\n    pass"}]
    wanted = tokenizer.apply_chat_template(messages, add_generation_prompt=True, return_dict=True)["input_ids"]
    from engine.reference.vocabulary import ChatMessage

    plain = [ChatMessage(message["role"], message["content"]) for message in messages]
    assert Vocabulary(shipped_target()).chat(plain) == wanted
    assert tokenizer.eos_token_id == 2


@pytest.mark.train
def test_the_draft_at_serving_is_the_draft_that_was_trained() -> None:
    """Training's first two depths against numpy's prompt pass and its first chained step."""
    torch = pytest.importorskip("torch")
    from engine.reference.training import draft_loss, models
    from engine.reference.training.shapes import Shape

    shape = Shape()
    target_files = read_checkpoint(shipped_target(), TARGET_CLASS)
    draft_files = read_checkpoint(shipped_draft(), DRAFT_CLASS)
    tokens = Vocabulary(shipped_target()).encode(SOURCE)[:40]
    count = len(tokens) - 2
    target = Target(target_files, count + 4, shape.captured_layers)
    draft = Draft(draft_files, target, count + 4, own_head=True)
    positions = numpy.arange(count)[None]
    captured = target.forward(numpy.array([tokens[:count]]), positions, target.new_cache(1, count), 0).captured
    assert captured is not None
    cache = draft.new_cache(1, count + 4)
    first = draft.forward(numpy.array([tokens[1 : count + 1]]), captured, positions, cache, 0)
    chained = draft.forward(numpy.array([tokens[-1:]]), first[:, -1:], numpy.array([[count]]), cache, 0)

    weights = {name: torch.from_numpy(numpy.array(tensor)) for name, tensor in draft_files.tensors.items()}
    table = torch.from_numpy(target.embeddings)
    embedded = table[torch.tensor(tokens[1:])][None]
    states = torch.from_numpy(captured) @ weights["fc.weight"].T
    states = torch.cat([states, states[:, -1:]], dim=1)
    rotary = models.rotary_table(torch.arange(count + 1), shape)
    keys: list[object] = []
    values: list[object] = []
    step = draft_loss.midlayer(weights, embedded, states, rotary, keys, values, shape)
    assert numpy.abs(step[:, :count].numpy() - first).max() < 1e-3
    moved = torch.nn.functional.pad(step, (0, 0, 1, 0))[:, :-1]
    second = draft_loss.midlayer(weights, embedded, moved, rotary, keys, values, shape)
    assert numpy.abs(second[:, count].numpy() - chained[:, 0]).max() < 1e-3


@pytest.mark.train
@pytest.mark.timeout(600)
def test_training_makes_a_pair_that_can_be_served(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    from click.testing import CliRunner

    from engine.reference.training.__main__ import training

    source = tmp_path / "source"
    source.mkdir()
    for number in range(200):
        (source / f"module_{number}.py").write_text(SOURCE.replace("swapped", f"swapped_{number}"))
    tokens, output = str(tmp_path / "tokens"), str(tmp_path / "pair")
    run = CliRunner().invoke(training, ["prepare", tokens, "--source", str(source)])
    assert run.exit_code == 0, run.output
    quick = "--target-seconds 1 --draft-seconds 1 --batch 1 --answer-rounds 1 --answer-rows 4 --answer-length 330"
    run = CliRunner().invoke(training, ["train", tokens, output, *quick.split()])
    assert run.exit_code == 0, run.output
    target = Target(read_checkpoint(tmp_path / "pair/target", TARGET_CLASS), 8, (2, 4, 5))
    Draft(read_checkpoint(tmp_path / "pair/draft", DRAFT_CLASS), target, 8, own_head=True)
    run = CliRunner().invoke(training, ["train", tokens, str(tmp_path / "again"), "--start", output, *quick.split()])
    assert run.exit_code == 0, run.output
    again = read_checkpoint(tmp_path / "again/draft", DRAFT_CLASS)
    assert numpy.array_equal(again.tensors["d2t"], read_checkpoint(tmp_path / "pair/draft", DRAFT_CLASS).tensors["d2t"])
