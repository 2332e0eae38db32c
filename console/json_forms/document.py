"""Writes docs/json.md: `python -m console.json_forms.document > docs/json.md`."""

import sys
from collections.abc import Iterator
from typing import Any

from console.json_forms.schema import form_words
from console.json_forms.table import FORMS
from state.markdown import table_cell

HEAD = """# JSON for scripts

Made from the code by `python -m console.json_forms.document`; a test holds real outputs against it.

Every command below prints its answer as JSON with `--json`. `alula schema COMMAND` prints the JSON Schema (2020-12)
with every field:

```
alula schema jobs list
alula jobs list --json | jq -r '.[] | select(.state == "failed") | "\\(.id) \\(.reason)"'
alula gpus --json | jq '[.samples[].power_w] | add'
alula regen status humaneval --json | jq .progress.eta_s
```

- Keys are added, never renamed or dropped: let your reader pass over those it does not know. The schema says which keys
  are always there; plans and samples leave out what has its usual value.
- `null` means not known or not reported, never 0. Times are UTC seconds since 1970; `_s`, `_bytes`, `_w`, `_c`, `_mhz`
  at the end of a name are units.
- With `--watch`, each second's answer is one line. `jobs logs` prints one object for each line of the log.
- Exit code 2: it could not be done. Standard error then has `{"error": ..., "remedy": ...}`. What 1 means, each
  command's `--help` says.

| `alula ...` | With | Prints | |
| --- | --- | --- | --- |"""


def document() -> str:
    """The whole page."""
    return "\n".join([HEAD, *_rows(), ""])


def _rows() -> Iterator[str]:
    for command, forms in FORMS.items():
        for when, form in forms.items():
            asked = ", ".join(f"`{word}`" for word in when.split(" or ")) if when else ""
            yield f"| `{command}` | {asked} | {form_words(form)} | {_meaning(form)} |"


def _meaning(form: Any) -> str:
    """The first paragraph of what the record says of itself."""
    inner = getattr(form, "__args__", (form,))[-1]
    told = (getattr(inner, "__doc__", None) or "").partition("\n\n")[0] if inner not in (str, Any) else ""
    return table_cell(told)


if __name__ == "__main__":
    sys.stdout.write(document())
