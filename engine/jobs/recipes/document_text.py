"""The words of docs/recipes.md that are not made from the code, and the mistakes that it shows."""

EXAMPLE = r"""name = "my-train"
kind = "train"
help = "Our own trainer."
argv = [
  "{python}", "-m", "our.trainer",
  "--model", "{model}",
  ["--resume", "{checkpoint}"],
  { when = "bf16", argv = ["--bf16"], otherwise = ["--fp32"] },
  "{extra...}",
]
environment = { OMP_NUM_THREADS = "{threads}" }
secrets = ["HF_TOKEN"]
progress = ['batch (?P<done>\d+) of (?P<total>\d+)']

[interpreter]
imports = "our.trainer"

[parameters]
model = { type = "path", required = true, exists = "folder", help = "What is trained." }
checkpoint = { type = "path", help = "Where to go on." }
bf16 = { type = "bool", default = true }
threads = { type = "int", default = 8, minimum = 1 }
gpus = { type = "int", default = 1, minimum = 1 }
extra = { type = "list", help = "More flags, as in a shell." }

[resources]
gpus = ["gpus"]
disk = "50GiB"

[retry]
times = 3
log = ['NCCL error']

[[metrics]]
name = "loss"
pattern = 'step (?P<step>\d+) loss (?P<value>[\d.]+)'
"""

HEAD = """# Recipes

Made from the code by `python -m engine.jobs.recipes.document`.

A recipe is a small TOML file that says how one kind of job is launched: its parameters, its command, what it needs,
how to see that it is ready and how far it is. The launch form (`n` on the jobs screen) and `alula jobs launch` are
made from it.

```
alula jobs recipes                      # all of them, and what is wrong with files of yours
alula jobs recipes sglang-eagle3        # one, with its parameters
alula jobs launch sglang-eagle3 model=/models/target draft=/models/draft tp=8 --dry-run
alula jobs launch sglang-eagle3 model=/models/target draft=/models/draft tp=8
alula jobs launch my-own --save-as my-own-fast lr=2e-4     # keep values as a recipe of your own
```

## Write one
Put a file into `recipes/` in the configuration folder (`alula jobs recipes` ends with its path). It is read at each
launch; there is nothing to restart.

```toml
{example}```

- **Words** of `argv` are arguments, never shell text. `{name}` stands for a value, `{name...}` alone for all words of
  a list, `{{` for a brace. `{python}` is the interpreter, `{alula...}` Alula itself.
- **A group** `[ ... ]` within it is left out where one of its names has no value.
- **A condition** `{ when = ... }` takes `argv` where the parameter is true (or `is` one of some values), else
  `otherwise`.
- **Environment** is stored with the job and shown. Secrets are named only: `secrets` are required, `optional_secrets`
  given where there is a value. See [Jobs](jobs.md).
- **A file of the name of a built-in recipe** goes before it. `extends = "sglang-server"` with `values = { ... }`
  changes defaults only; that is what "save as" in the form writes.
- **What can be known to go wrong** is said before the launch: a value, an interpreter without the package, a program
  that is not there, a port in use, GPUs that are taken, a full disk, the checker's findings. An error keeps the job
  from being launched until it is mended, or overridden by the name of its rule (`--override port-in-use`).
"""

FOOT = """A file with a mistake is left out; all others load. `alula jobs recipes` ends with exit code 1 and names it,
as does the list of recipes on the screen.
"""

MISTAKES = (
    ("`argv` names a parameter that is not there", '"{model}"', '"{modell}"'),
    ("a parameter without a value outside a group", '["--resume", "{checkpoint}"]', '"--resume", "{checkpoint}"'),
    ("an unknown key", "required = true", "needed = true"),
    ("an unknown type", 'type = "bool"', 'type = "boolean"'),
    ("a default that its own limits refuse", "default = 8, minimum = 1", "default = 0, minimum = 1"),
    ("a pattern without its group", "loss (?P<value>[\\d.]+)", "loss [\\d.]+"),
    ("`{python}` without an interpreter", '[interpreter]\nimports = "our.trainer"\n', ""),
    ("an amount that is none", '"50GiB"', '"plenty"'),
    ("no TOML", 'kind = "train"', 'kind = "train'),
)
"""What is wrong, in words; the text of the example and what stands in its place."""
