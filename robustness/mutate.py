"""Mutants of a module: small changes of its code, each of which some test should notice.

Left alone are annotations, decorators, assertions, and what an error says.
"""

from __future__ import annotations

import ast
import copy
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

_COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq, ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
}  # fmt: skip
_ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.Pow: ast.Mult,
    ast.FloorDiv: ast.Mult, ast.Mod: ast.FloorDiv, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd,
}  # fmt: skip
_FUNCTIONS = {"min": "max", "max": "min", "any": "all", "all": "any",
              "minimum": "maximum", "maximum": "minimum"}  # fmt: skip
_UNTOUCHED = ("annotation", "returns", "decorator_list", "type_params", "ctx")
_LONGEST, _CONTEXT = 100, 40  # characters: of a longer change only what is around it is shown
Node = TypeVar("Node", bound=ast.AST)
Item = TypeVar("Item")
#: Too little to show by themselves.
_SMALL = (ast.Slice, ast.Tuple, ast.List, ast.UnaryOp, ast.keyword, ast.arguments)
_Scope = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


@dataclass(frozen=True)
class Mutant:
    """One change of a module.

    Attributes
    ----------
    module : str
        Path of the module below ``src/castlist``.
    place : str
        Qualified name of the function; empty at the level of the module.
    change : str
        The expression or statement before and after; if the place has several such changes, all but
        the first have a number.
    """

    module: str
    place: str
    change: str

    @property
    def id(self) -> str:
        """Module, place and change in one line; it does not depend on other code."""
        return f"{self.module} {self.place or 'module'}: {self.change}"


@dataclass(frozen=True)
class _Site:
    """A node of a tree, what is shown around it, and a function that replaces it."""

    place: str
    around: ast.AST
    node: ast.AST
    replace: Callable[[ast.AST], None]


def mutants_of(module: str, text: str) -> list[Mutant]:
    """Return all mutants of a module, in the order of its code."""
    return [mutant for mutant, _ in _mutations(module, ast.parse(text))]


def mutated(text: str, mutant: Mutant) -> str:
    """Return the code of a module after the change of a mutant, without comments."""
    tree = ast.parse(text)
    for other, change in _mutations(mutant.module, tree):
        if other == mutant:
            change()
            return ast.unparse(ast.fix_missing_locations(tree))
    raise LookupError(f"no mutant {mutant.id}")


def _mutations(module: str, tree: ast.Module) -> Iterator[tuple[Mutant, Callable[[], None]]]:
    """Yield the mutants of a tree, each with a function that changes the tree."""
    times: Counter[tuple[str, str]] = Counter()
    for site in list(_sites(tree, "")):
        for new in list(_variants(site.node)):
            change = _described(site, new)
            times[site.place, change] += 1
            if times[site.place, change] > 1:
                change += f" ({times[site.place, change]})"
            yield Mutant(module, site.place, change), partial(site.replace, new)


def _described(site: _Site, new: ast.AST) -> str:
    """Return what changes, before and after: of a constant, the expression that it is in."""
    seen = site.around if isinstance(site.node, ast.Constant | ast.UnaryOp) else site.node
    before = _line(seen)
    if seen is site.node:
        after = _line(new)
    else:
        site.replace(new)
        after = _line(seen)
        site.replace(site.node)
    if len(before) <= _LONGEST:
        return f"{before} → {after}"
    first = max(0, _same(before, after) - _CONTEXT)
    last = max(0, _same(before[first:][::-1], after[first:][::-1]) - _CONTEXT)
    return " → ".join(f"…{text[first : len(text) - last]}…" for text in (before, after))


def _same(text: str, other: str) -> int:
    """Return the number of letters with which both begin."""
    pairs = enumerate(zip(text, other, strict=False))
    return next((k for k, (a, b) in pairs if a != b), min(len(text), len(other)))


def _line(node: ast.AST) -> str:
    """Return a node as one line of code; of a statement with a body, its first line."""
    if isinstance(node, _Scope):
        node = _with(node, decorator_list=[])
    return ast.unparse(node).strip().splitlines()[0]


def _sites(node: ast.AST, place: str, around: ast.AST | None = None) -> Iterator[_Site]:
    """Yield the nodes below a node, from outside to inside."""
    around = node if around is None or not isinstance(node, _SMALL) else around
    if isinstance(node, _Scope):
        place = f"{place}.{node.name}" if place else node.name
    for name, value in ast.iter_fields(node):
        if name in _UNTOUCHED:
            continue
        children = value if isinstance(value, list) else [value]
        for index, child in enumerate(children):
            if not isinstance(child, ast.AST) or _is_left_alone(child):
                continue

            def replace(
                new: ast.AST, name: str = name, value: object = value, index: int = index
            ) -> None:
                if isinstance(value, list):
                    value[index] = new
                else:
                    setattr(node, name, new)

            yield _Site(place, around, child, replace)
            if not isinstance(child, ast.Raise):  # what an error says is not a policy
                yield from _sites(child, place, around)


def _is_left_alone(node: ast.AST) -> bool:
    text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    typing = isinstance(node, ast.If) and _line(node.test) == "TYPE_CHECKING"
    return text or typing or isinstance(node, ast.Assert | ast.JoinedStr | ast.ImportFrom)


def _variants(node: ast.AST) -> Iterator[ast.AST]:
    """Yield what may stand in the place of a node."""
    match node:
        case ast.Compare():
            for k, operator in enumerate(node.ops):
                yield _with(node, ops=_put(node.ops, k, _COMPARISONS[type(operator)]()))
        case ast.BoolOp():
            yield _with(node, op=ast.Or() if isinstance(node.op, ast.And) else ast.And())
            for k, _ in enumerate(node.values):
                left = [*node.values[:k], *node.values[k + 1 :]]
                yield left[0] if len(left) == 1 else _with(node, values=left)
        case ast.BinOp() if type(node.op) in _ARITHMETIC:
            yield _with(node, op=_ARITHMETIC[type(node.op)]())
            if isinstance(node.op, ast.BitAnd | ast.BitOr):
                yield from (node.left, node.right)
        case ast.AugAssign():
            if type(node.op) in _ARITHMETIC:
                yield _with(node, op=_ARITHMETIC[type(node.op)]())
            yield ast.Pass()
        case ast.UnaryOp(ast.Not() | ast.USub() | ast.Invert()):
            yield node.operand
        case ast.Constant(bool(value)):
            yield ast.Constant(not value)
        case ast.Constant(int(value)):
            yield from (ast.Constant(value + 1), ast.Constant(value - 1))
        case ast.Constant(float(value)):
            yield from (ast.Constant(2 * value or 1.0), ast.Constant(value / 2 or -1.0))
        case ast.Return(ast.expr() as value) if _line(value) != "None":
            yield _with(node, value=ast.Constant(None))
        case ast.If() | ast.While() | ast.IfExp():
            yield _with(node, test=ast.UnaryOp(ast.Not(), node.test))
        case ast.comprehension():
            for k, test in enumerate(node.ifs):
                yield _with(node, ifs=_put(node.ifs, k, ast.UnaryOp(ast.Not(), test)))
                yield _with(node, ifs=[*node.ifs[:k], *node.ifs[k + 1 :]])
        case ast.Call():
            yield from _calls(node)
        case ast.Expr(ast.Call()) | ast.Raise():
            yield ast.Pass()
        case ast.Continue():
            yield ast.Break()
        case ast.Break():
            yield ast.Continue()


def _calls(node: ast.Call) -> Iterator[ast.AST]:
    """Yield a call of the opposite function, and the call without one of its keywords."""
    match node.func:
        case ast.Name(name) if name in _FUNCTIONS:
            yield _with(node, func=ast.Name(_FUNCTIONS[name]))
        case ast.Attribute(attr=name) if name in _FUNCTIONS:
            yield _with(node, func=_with(node.func, attr=_FUNCTIONS[name]))
    for k, keyword in enumerate(node.keywords):
        if keyword.arg is not None:
            yield _with(node, keywords=[*node.keywords[:k], *node.keywords[k + 1 :]])


def _with(node: Node, **fields: object) -> Node:
    """Return a shallow copy of a node with other fields."""
    new = copy.copy(node)
    for name, value in fields.items():
        setattr(new, name, value)
    return new


def _put(items: list[Item], index: int, new: Item) -> list[Item]:
    return [*items[:index], new, *items[index + 1 :]]
