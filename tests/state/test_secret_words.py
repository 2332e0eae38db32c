"""What is hidden in commands, scripts, URLs, environments; and what is not."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from state.records.jobs import Job
from state.secret_words import HIDDEN, is_secret_name, shown_argv, shown_job, shown_text

PLANTED = "s3cr3t-Value"
HIDING = [
    ["serve", "--api-key", PLANTED],
    ["serve", f"--api-key={PLANTED}"],
    ["env", f"HF_TOKEN={PLANTED}", "python"],
    ["sh", "-c", f"HF_TOKEN={PLANTED} python train.py --lr 1"],
    ["sh", "-c", f"export WANDB_API_KEY='{PLANTED}'; python train.py"],
    ["sh", "-c", f"serve --admin-api-key {PLANTED} --port 3"],
    ["curl", "-H", f"Authorization: Bearer {PLANTED}", "http://x"],
    ["git", "clone", f"https://me:{PLANTED}@example.org/x.git"],
    ["login", "hf_" + PLANTED.replace("-", "") * 3],
]
PLAIN = [
    ["serve", "--max-tokens", "5", "--eos-token", "</s>", "--token-map", "/x", "--tokenizer", "a=b"],
    ["sh", "-c", "for i in 1 2; do echo token $i; done"],
    ["curl", "http://user.example.org/a@b"],
]


@pytest.mark.parametrize("words", HIDING, ids=lambda words: " ".join(words)[:30])
def test_secrets_are_hidden(words: list[str]) -> None:
    shown = shown_argv(words)
    assert HIDDEN in " ".join(shown) and not any(PLANTED in word or PLANTED.replace("-", "") in word for word in shown)
    assert len(shown) == len(words)


@pytest.mark.parametrize("words", PLAIN, ids=lambda words: words[0])
def test_the_rest_is_left_alone(words: list[str]) -> None:
    assert list(shown_argv(words)) == words


def test_a_whole_job() -> None:
    job = Job(
        name="x", kind="serve", argv=("serve", "--api-key", PLANTED), working_dir="/", run_folder="", created_at=0.0,
        environment={"OLD_SECRET": PLANTED, "PROXY": f"http://me:{PLANTED}@proxy"},
        parameters={"api_key": PLANTED, "extra": ["--hf-token", PLANTED], "script": f"A_TOKEN={PLANTED}", "tp": 2},
    )  # fmt: skip
    assert PLANTED not in repr(shown_job(job))
    assert shown_job(job).parameters["tp"] == 2


@given(st.text())
def test_any_text_can_be_shown_and_shown_again(text: str) -> None:
    assert shown_text(shown_text(text)) == shown_text(text)
    assert is_secret_name(text) in (True, False)
