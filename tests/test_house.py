"""The house keeps its order: what is public, and which room may know which."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import castlist
from castlist import research
from tests.without_posix import MODULES, NAMES

ROOT = Path(castlist.__file__).parent
DOCS = Path(__file__).parents[1] / "docs"

#: Each room may import from itself and from those before it (docs/development/architecture.md).
ORDER = [
    ("_version", "errors", "progress"),
    ("extras", "format", "geometry", "parallel", "plugins", "ray_cluster"),
    ("features",),
    ("tracks",),
    ("io",),
    ("cluster", "score"),
    ("model",),
    ("video",),
    ("cast",),
    ("report", "export"),
    ("handover",),
    ("pipeline",),
    ("review",),
    ("library",),
    ("cli",),
    ("research",),  # nothing imports it
    ("__main__",),
]
RANK = {room: i for i, rooms in enumerate(ORDER) for room in rooms}


def room_of(module: str) -> str:
    return module.split(".")[1] if "." in module else ""


@pytest.mark.parametrize("path", sorted(ROOT.rglob("*.py")), ids=lambda p: str(p.relative_to(ROOT)))
def test_imports_point_one_way(path):
    here = path.relative_to(ROOT).parts[0].removesuffix(".py")
    if here == "__init__":
        return
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        names += [a.name for a in node.names] if isinstance(node, ast.Import) else []
        for name in names:
            if name.startswith("castlist."):
                there = room_of(name)
                same_rank = RANK[there] == RANK[here] and there != here
                assert RANK[there] <= RANK[here], f"{path}: {here} must not know {there}"
                assert not same_rank or RANK[here] == 0, f"{path}: {here} must not know {there}"


@pytest.mark.parametrize("path", sorted(ROOT.rglob("*.py")), ids=lambda p: str(p.relative_to(ROOT)))
def test_nothing_is_used_that_windows_does_not_have(path):
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        names += [a.name for a in node.names] if isinstance(node, ast.Import) else []
        assert not set(names) & MODULES, path
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            assert node.attr not in NAMES.get(node.value.id, ()), f"{path}: {node.attr}"


def test_everything_public_is_there_and_documented():
    api = (DOCS / "api.md").read_text("utf-8")
    names = [(package, name) for package in (castlist, research) for name in package.__all__]
    for package, name in names:
        value = getattr(package, name)
        if name != "__version__":
            assert value.__doc__, name
            assert re.search(rf"^## .*`{name}`", api, re.M), f"{name} is not in docs/api.md"
