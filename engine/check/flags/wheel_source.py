"""Reads constants out of a wheel's Python source without importing or running any of it."""

import ast
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any


class NotConstant(Exception):
    """The expression depends on something that only a running program knows."""


class WheelSource:
    """The modules of one wheel, parsed when they are asked for."""

    def __init__(self, wheel: Path) -> None:
        self._archive = zipfile.ZipFile(wheel)
        self._names = set(self._archive.namelist())
        self._modules: dict[str, ast.Module | None] = {}

    def module(self, name: str) -> ast.Module | None:
        """The syntax tree of a module; `None` where the wheel lacks it."""
        if name not in self._modules:
            base = name.replace(".", "/")
            path = next((p for p in (f"{base}.py", f"{base}/__init__.py") if p in self._names), None)
            self._modules[name] = ast.parse(self._archive.read(path)) if path else None
        return self._modules[name]

    def modules_under(self, package: str) -> list[str]:
        """Names of the modules of a package, its sub-packages included."""
        base = package.replace(".", "/") + "/"
        return sorted(
            name.removesuffix(".py").replace("/", ".")
            for name in self._names
            if name.startswith(base) and name.endswith(".py") and not name.endswith("__init__.py")
        )

    def find(self, module: str, name: str, depth: int = 0) -> tuple[str, ast.AST]:
        """The module and node that define a top-level name, imports followed; raises `NotConstant`."""
        tree = self.module(module)
        if tree is None or depth > 8:
            raise NotConstant(name)
        for node in ast.walk(tree):
            found = self._definition(node, name)
            if found is not None:
                return module, found
            if (
                isinstance(node, ast.ImportFrom)
                and node.module
                and any((a.asname or a.name) == name for a in node.names)
            ):
                original = next(a.name for a in node.names if (a.asname or a.name) == name)
                return self.find(node.module, original, depth + 1)
        raise NotConstant(name)

    @staticmethod
    def _definition(node: ast.AST, name: str) -> ast.AST | None:
        if isinstance(node, ast.ClassDef | ast.FunctionDef) and node.name == name:
            return node
        if isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id == name for t in node.targets):
            return node.value
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.target.id == name:
            return node.value
        return None


class Evaluator:
    """Evaluates the constant expressions that stand in flag definitions."""

    def __init__(self, source: WheelSource, fields: Mapping[str, Any]) -> None:
        self._source = source
        self._fields = fields
        """Defaults of `ServerArgs`, for `ServerArgs.port` and the like."""

    def value(  # noqa: C901 - one case for each form of expression
        self, node: ast.AST | None, module: str, local: Mapping[str, ast.expr] | None = None
    ) -> Any:
        """The value of an expression in a module; raises `NotConstant`."""
        scope = local or {}
        match node:
            case ast.Constant(value=constant):
                return constant
            case ast.List(elts=items) | ast.Tuple(elts=items) | ast.Set(elts=items):
                return self._items(items, module, scope)
            case ast.Dict(keys=keys):
                return {self.value(key, module, scope): None for key in keys if key is not None}
            case ast.Name(id=name):
                return self._named(name, module, scope)
            case ast.Attribute(value=ast.Name(id="ServerArgs"), attr=name) if name in self._fields:
                return self._fields[name]
            case ast.Attribute(value=ast.Name(id=owner), attr=name):
                return self._attribute(owner, name, module)
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                return self.value(left, module, scope) + self.value(right, module, scope)
            case ast.BinOp(left=left, op=ast.Mult(), right=right):
                return self.value(left, module, scope) * self.value(right, module, scope)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return -self.value(operand, module, scope)
            case ast.Subscript(value=ast.Name(id="Literal"), slice=chosen):
                return self._items(chosen.elts if isinstance(chosen, ast.Tuple) else [chosen], module, scope)
            case ast.Call():
                return self._called(node, module, scope)
            case _:
                raise NotConstant(ast.dump(node)[:80] if node is not None else "nothing")

    def _items(self, items: list[ast.expr], module: str, scope: Mapping[str, ast.expr]) -> list[Any]:
        found: list[Any] = []
        for item in items:
            if isinstance(item, ast.Starred):
                found.extend(self.value(item.value, module, scope))
            else:
                found.append(self.value(item, module, scope))
        return found

    def _named(self, name: str, module: str, scope: Mapping[str, ast.expr]) -> Any:
        if name in scope:
            return self.value(scope[name], module, {key: node for key, node in scope.items() if key != name})
        where, node = self._source.find(module, name)
        return self.value(node, where)

    def _attribute(self, owner: str, name: str, module: str) -> Any:
        where, node = self._source.find(module, owner)
        if not isinstance(node, ast.ClassDef):
            raise NotConstant(f"{owner}.{name}")
        for statement in node.body:
            found = WheelSource._definition(statement, name)
            if found is not None:
                return self.value(found, where)
        raise NotConstant(f"{owner}.{name}")

    def _called(self, call: ast.Call, module: str, scope: Mapping[str, ast.expr]) -> Any:
        match call:
            case ast.Call(func=ast.Name(id="list" | "tuple" | "set" | "get_args" as name), args=[only]):
                found = list(self.value(only, module, scope))
                return sorted(found, key=str) if name == "set" else found
            case ast.Call(func=ast.Name(id="sorted"), args=[only, *_]):
                return sorted(self.value(only, module, scope))
            case ast.Call(func=ast.Name(id="list" | "dict" | "set"), args=[]):
                return []
            case ast.Call(func=ast.Attribute(value=owner, attr="keys"), args=[]):
                return list(self.value(owner, module, scope))
            case ast.Call(func=ast.Name(id="_declared_default"), args=[ast.Constant(value=str(name))]):
                return self._fields[name]
            case ast.Call(func=ast.Name(id="field") | ast.Attribute(attr="field"), keywords=keywords):
                return self._field_default(keywords, module)
            case ast.Call(func=ast.Name(id=name), args=[], keywords=[]):
                return self._returned(name, module)
            case _:
                raise NotConstant(ast.unparse(call)[:80])

    def _field_default(self, keywords: list[ast.keyword], module: str) -> Any:
        given = {keyword.arg: keyword.value for keyword in keywords}
        if "default" in given:
            return self.value(given["default"], module)
        match given.get("default_factory"):
            case ast.Name(id="list" | "dict" | "set"):
                return []
            case ast.Lambda(body=body):
                return self.value(body, module)
            case _:
                raise NotConstant("default_factory")

    def _returned(self, name: str, module: str) -> Any:
        where, node = self._source.find(module, name)
        if not isinstance(node, ast.FunctionDef):
            raise NotConstant(name)
        last = node.body[-1]
        if not isinstance(last, ast.Return):
            raise NotConstant(name)
        return self.value(last.value, where, assignments(node))


def assignments(function: ast.FunctionDef) -> dict[str, ast.expr]:
    """Local names of a function that are assigned once, with the expression."""
    found: dict[str, ast.expr] = {}
    for node in ast.walk(function):
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            found[node.targets[0].id] = node.value
    return found


def or_else(read: Callable[[], Any], otherwise: Any) -> Any:
    """The value read, or `otherwise` where it is not constant."""
    try:
        return read()
    except (NotConstant, KeyError, TypeError):
        return otherwise
