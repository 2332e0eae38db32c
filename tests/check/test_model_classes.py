"""Model classes out of the source of a wheel; the source is never imported."""

import zipfile
from pathlib import Path

import msgspec
import pytest

from engine.check.facts import extract

LLAMA = """
raise RuntimeError("this module must not be run")
class LlamaForCausalLM:
    {method}
class Phi3ForCausalLM(LlamaForCausalLM):
    pass
class Helper:
    pass
EntryClass = [LlamaForCausalLM, Phi3ForCausalLM]
"""
METHOD = "def set_eagle3_layers_to_capture(self, layer_ids): ..."
GEMMA = "class Gemma(Gemma): pass\nEntryClass = Gemma\n"


def wheel(folder: Path, release: str, **modules: str) -> Path:
    path = folder / f"sglang-{release}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for name, source in modules.items():
            archive.writestr(f"sglang/srt/models/{name}.py", source)
        archive.writestr("sglang/srt/server_args.py", "EntryClass = Elsewhere")
    return path


def test_each_class_is_noted_with_its_first_release_and_the_first_that_captures_layers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(extract, "DATA", tmp_path / "classes.json")
    old = wheel(tmp_path, "0.5.9", llama=LLAMA.format(method="pass"))
    new = wheel(tmp_path, "0.5.10", llama=LLAMA.format(method=METHOD), gemma=GEMMA)
    extract.main([new, old])
    assert msgspec.json.decode((tmp_path / "classes.json").read_bytes()) == {
        "Gemma": {"since": "0.5.10"},
        "LlamaForCausalLM": {"since": "0.5.9", "eagle3_since": "0.5.10"},
        "Phi3ForCausalLM": {"since": "0.5.9", "eagle3_since": "0.5.10"},
    }
