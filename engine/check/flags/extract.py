"""Makes the flag tables from published wheels: `python -m engine.check.flags.extract WHEEL...`.

Get the wheels with `pip download sglang==0.5.23 --no-deps`. The source is parsed, never imported. Two forms are known:
`parser.add_argument(...)` calls in `ServerArgs.add_cli_args` (all releases) and annotated fields
`name: A[type, Arg(...)]` (0.5.14 and later; from 0.5.19 in `arg_groups/fields/`).
"""

import ast
import functools
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeGuard

import msgspec

from engine.check.flags.release import version_key
from engine.check.flags.table import DATA, Flag, ReleaseRange, Tables
from engine.check.flags.wheel_source import Evaluator, WheelSource, assignments, or_else

SERVER_ARGUMENTS = "sglang.srt.server_args"
WHEEL_NAME = re.compile(r"^sglang-(?P<release>[0-9][^-]*)-")
ACTIONS = {
    "store_true": "store_true",
    "store_false": "store_false",
    "append": "append",
    "BooleanOptionalAction": "boolean_optional",
    "DeprecatedStoreTrueAction": "store_true",
    "DeprecatedStoreConstAction": "store_const",
}


def main(wheels: list[Path]) -> None:
    """Extract every wheel and write the data file anew."""
    found = {}
    for wheel in wheels:
        named = WHEEL_NAME.match(wheel.name)
        if named is None:
            raise SystemExit(f"{wheel}: not an sglang wheel")
        found[named["release"]] = extract(wheel)
    DATA.write_bytes(lines_of(merge(found)))
    sys.stdout.write(
        f"{DATA}: {len(found)} releases, {len({f for flags in found.values() for f in map(repr, flags)})} flags\n"
    )


def extract(wheel: Path) -> list[Flag]:
    """The flags of one release."""
    source = WheelSource(wheel)
    annotated = list(_annotated_fields(source))
    fields: dict[str, Any] = {}
    evaluator = Evaluator(source, fields)
    for module, field in annotated:
        if isinstance(field.target, ast.Name) and field.value is not None:
            fields[field.target.id] = _plain(or_else(functools.partial(evaluator.value, field.value, module), None))
    reader = _FlagReader(source, evaluator, fields)
    flags = [flag for module, field in annotated if (flag := reader.from_field(module, field)) is not None]
    flags += [flag for call, local in _registrations(source) if (flag := reader.from_call(call, local)) is not None]
    return _settle_defaults([Flag(dest="help", options=("-h", "--help"), action="help"), *flags])


def merge(found: dict[str, list[Flag]]) -> Tables:
    """One table of all releases, each distinct form of a flag once."""
    releases = sorted(found, key=version_key)
    forms: dict[bytes, tuple[Flag, list[int]]] = {}
    for index, release in enumerate(releases):
        for flag in found[release]:
            forms.setdefault(msgspec.json.encode(flag), (flag, []))[1].append(index)
    ranged = [
        ReleaseRange(**{name: getattr(flag, name) for name in Flag.__struct_fields__}, runs=_runs(at))
        for flag, at in forms.values()
    ]
    return Tables(tuple(releases), tuple(sorted(ranged, key=lambda flag: (flag.dest, flag.options, flag.runs))))


def lines_of(tables: Tables) -> bytes:
    """The data file: JSON with one flag a line, so that a change can be reviewed."""
    head = b'{"releases":' + msgspec.json.encode(tables.releases) + b',"flags":[\n'
    return head + b",\n".join(msgspec.json.encode(flag) for flag in tables.flags) + b"\n]}\n"


def _runs(indexes: list[int]) -> tuple[tuple[int, int], ...]:
    runs: list[tuple[int, int]] = []
    for index in sorted(set(indexes)):
        if runs and runs[-1][1] == index - 1:
            runs[-1] = (runs[-1][0], index)
        else:
            runs.append((index, index))
    return tuple(runs)


def _annotated_fields(source: WheelSource) -> Iterator[tuple[str, ast.AnnAssign]]:
    modules = [SERVER_ARGUMENTS, *source.modules_under("sglang.srt.arg_groups.fields")]
    for name in modules:
        for node in ast.walk(source.module(name) or ast.Module([], [])):
            if isinstance(node, ast.ClassDef) and (node.name == "ServerArgs" or name != SERVER_ARGUMENTS):
                yield from ((name, field) for field in node.body if isinstance(field, ast.AnnAssign))


def _registrations(source: WheelSource) -> Iterator[tuple[ast.Call, dict[str, ast.expr]]]:
    for node in ast.walk(source.module(SERVER_ARGUMENTS) or ast.Module([], [])):
        if isinstance(node, ast.FunctionDef) and node.name == "add_cli_args":
            local = assignments(node)
            for call in ast.walk(node):
                if (
                    isinstance(call, ast.Call)
                    and isinstance(call.func, ast.Attribute)
                    and call.func.attr == "add_argument"
                ):
                    yield call, local


def _settle_defaults(flags: list[Flag]) -> list[Flag]:
    """Where flags share a destination, argparse takes the default of the first one registered."""
    first: dict[str, Any] = {}
    for flag in flags:
        first.setdefault(flag.dest, flag.default)
    return [msgspec.structs.replace(flag, default=first[flag.dest]) for flag in flags]


class _FlagReader:
    def __init__(self, source: WheelSource, evaluator: Evaluator, fields: dict[str, Any]) -> None:
        self._source = source
        self._evaluator = evaluator
        self._fields = fields

    def from_call(self, call: ast.Call, local: dict[str, ast.expr]) -> Flag | None:
        options = tuple(arg.value for arg in call.args if isinstance(arg, ast.Constant) and isinstance(arg.value, str))
        given = {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg}
        long = next((option for option in options if option.startswith("--")), options[0])
        dest = self._constant(given, "dest", SERVER_ARGUMENTS, local) or long.lstrip("-").replace("-", "_")
        return self._flag(dest, options, given, SERVER_ARGUMENTS, local)

    def from_field(self, module: str, field: ast.AnnAssign) -> Flag | None:
        match field.annotation:
            case ast.Subscript(value=ast.Name(id="A"), slice=ast.Tuple(elts=[type_node, about, *_])):
                pass
            case _:
                return None
        assert isinstance(field.target, ast.Name)
        given = {k.arg: k.value for k in about.keywords if k.arg} if isinstance(about, ast.Call) else {}
        if self._constant(given, "no_cli", module, {}):
            return None
        name = field.target.id
        option = self._constant(given, "cli_name", module, {}) or "--" + name.replace("_", "-")
        aliases = self._constant(given, "aliases", module, {}) or []
        given = {**self._from_type(type_node), **given}
        given.setdefault("default", ast.Constant(self._fields.get(name)))
        if field.value is None and "required" not in given:
            given["required"] = ast.Constant(True)
        return self._flag(name, (option, *aliases), given, module, {})

    def _from_type(self, node: ast.expr) -> dict[str, ast.expr]:
        """What an annotation says: converter, choices, number of values (arg_utils.add_cli_args_from_dataclass)."""
        match node:
            case ast.Subscript(value=ast.Name(id="Optional"), slice=inner):
                return self._from_type(inner)
            case ast.BinOp(left=inner, op=ast.BitOr(), right=ast.Constant(value=None)):
                return self._from_type(inner)
            case ast.Subscript(value=ast.Name(id="Literal")):
                return {"choices": node, "type": ast.Name("str")}
            case ast.Subscript(value=ast.Name(id="List" | "list"), slice=inner):
                return {**self._from_type(inner), "nargs": ast.Constant("+"), "action": ast.Constant("store")}
            case ast.Name(id="bool"):
                return {"action": ast.Constant("store_true")}
            case ast.Name(id="int" | "float"):
                return {"type": node}
            case _:
                return {"type": ast.Name("str")}

    def _flag(
        self, dest: str, options: tuple[str, ...], given: dict[str, ast.expr], module: str, local: dict[str, ast.expr]
    ) -> Flag:
        if isinstance(extra := given.get("action_kwargs"), ast.Dict):
            named = {
                str(key.value): value for key, value in zip(extra.keys, extra.values, strict=True) if _is_text(key)
            }
            given = {**given, **named}
        if "type_parser" in given:
            given = {**given, "type": given["type_parser"]}
            if given.get("nargs") is not None and isinstance(given["nargs"], ast.Constant) and "choices" not in given:
                given.pop("nargs")
        action = self._action(given, module)
        nargs = self._constant(given, "nargs", module, local)
        valued_const = action == "store_const" and "nargs" in given and nargs is None
        choices = self._constant(given, "choices", module, local)
        default = self._constant(given, "default", module, local)
        return Flag(
            dest=dest,
            options=options,
            action=action,  # type: ignore[arg-type]
            type=ast.unparse(given["type"]) if "type" in given else "str",
            choices=tuple(choices) if choices else None,
            nargs="1" if valued_const else nargs if action in ("store", "append") else None,
            default=_plain(False if default is None and action == "store_true" else default),
            const=_plain(self._constant(given, "const_value" if "const_value" in given else "const", module, local)),
            required=bool(self._constant(given, "required", module, local)),
            successor=self._constant(given, "new_flag", module, local)
            or (self._constant(given, "error_message", module, local) if action == "removed" else None),
        )

    def _action(self, given: dict[str, ast.expr], module: str) -> str:
        node = given.get("action")
        name = node.value if isinstance(node, ast.Constant) else ast.unparse(node).split(".")[-1] if node else "store"
        if name != "DeprecatedAction":
            return ACTIONS.get(str(name), "store")
        _, body = self._source.find(module, "DeprecatedAction")
        refuses = any(
            isinstance(statement, ast.Raise)
            for f in ast.walk(body)
            if isinstance(f, ast.FunctionDef)
            for statement in f.body
        )
        return "removed" if refuses or "error_message" in given else "ignored"

    def _constant(self, given: dict[str, ast.expr], name: str, module: str, local: dict[str, ast.expr]) -> Any:
        node = given.get(name)
        return None if node is None else or_else(lambda: self._evaluator.value(node, module, local), None)


def _is_text(node: ast.expr | None) -> TypeGuard[ast.Constant]:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _plain(value: Any) -> Any:
    return value if value is None or isinstance(value, str | int | float | bool | list) else str(value)


if __name__ == "__main__":
    main([Path(argument) for argument in sys.argv[1:]])
