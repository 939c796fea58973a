from __future__ import annotations

import ast
import subprocess

import pytest

from robustness.mutants import (
    EQUIVALENT,
    MODULES,
    ROOT,
    SOURCE,
    Copy,
    drawn,
    listed_equivalents,
    stages_of,
)
from robustness.mutate import mutants_of, mutated

CODE = '''
"""A module."""

LIMIT = 2


@cached(1)
def grow(x: int = 3, *rest: "3") -> int:
    """Return 4."""
    assert x != 5
    if x < LIMIT and rest:
        raise ValueError(f"{x + 1} is " + "too small")
    return max(x, key=abs) - 1
'''


def changes(code):
    return [one.change for one in mutants_of("m.py", code)]


def test_every_change_is_one_of_the_code_and_none_of_what_is_said():
    assert changes(CODE) == [
        "LIMIT = 2 → LIMIT = 3", "LIMIT = 2 → LIMIT = 1",
        "def grow(x: int=3, *rest: '3') -> int: → def grow(x: int=4, *rest: '3') -> int:",
        "def grow(x: int=3, *rest: '3') -> int: → def grow(x: int=2, *rest: '3') -> int:",
        "if x < LIMIT and rest: → if not (x < LIMIT and rest):",
        "x < LIMIT and rest → x < LIMIT or rest", "x < LIMIT and rest → rest",
        "x < LIMIT and rest → x < LIMIT", "x < LIMIT → x <= LIMIT",
        "raise ValueError(f'{x + 1} is ' + 'too small') → pass",
        "return max(x, key=abs) - 1 → return None", "max(x, key=abs) - 1 → max(x, key=abs) + 1",
        "max(x, key=abs) → min(x, key=abs)", "max(x, key=abs) → max(x)",
        "max(x, key=abs) - 1 → max(x, key=abs) - 2", "max(x, key=abs) - 1 → max(x, key=abs) - 0",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("code", "after"),
    [
        ("a | b", ["a & b", "a", "b"]),
        ("not a", ["a"]),
        ("x[1:]", ["x[2:]", "x[0:]"]),
        ("0.5 * a", ["0.5 / a", "1.0 * a", "0.25 * a"]),
        ("a is None", ["a is not None"]),
        ("[x for x in y if x]", ["[x for x in y if not x]", "[x for x in y]"]),
        ("f(x)", ["pass"]),
        ("a += b", ["a -= b", "pass"]),
        ("while True:\n    break", ["while not True:", "while False:", "continue"]),
    ],
)
def test_what_stands_in_its_place(code, after):
    found = mutants_of("m.py", code)
    texts = [mutated(code, one) for one in found]
    assert len(set(texts)) == len(texts) == len(after)
    for text, wanted in zip(texts, after, strict=True):
        assert wanted in text.strip()
    assert code == ast.unparse(ast.parse(code))


def test_a_repeated_change_is_told_apart():
    first, second = (one for one in mutants_of("m.py", "f(a < b, a < b)") if "<=" in one.change)
    assert second.change == f"{first.change} (2)"
    assert mutated("f(a < b, a < b)", first) == "f(a <= b, a < b)"
    assert mutated("f(a < b, a < b)", second) == "f(a < b, a <= b)"


def test_a_seed_draws_the_same_though_other_code_changes():
    before = mutants_of("m.py", CODE)
    after = mutants_of("m.py", CODE.replace("LIMIT = 2", "LIMIT = limit(7)"))
    common = set(before) & set(after)
    assert len(common) == len(before) - 2
    order = [[one for one in drawn(some, 3) if one in common] for some in (before, after)]
    assert order[0] == order[1] != [one for one in drawn(before, 4) if one in common]


def test_every_mutant_listed_as_equivalent_exists():
    modules = [path for some in MODULES for path in (ROOT / SOURCE).glob(some)]
    every = {
        one.id
        for path in modules
        for one in mutants_of(path.relative_to(ROOT / SOURCE).as_posix(), path.read_text("utf-8"))
    }
    assert len(every) > 1000
    assert listed_equivalents(EQUIVALENT) <= every


@pytest.mark.parametrize("module", ["cast/links.py", "model/neighbours.py", "cast/state.py"])
def test_the_tests_of_a_module_come_first_and_exist(module):
    stages = stages_of(module, ROOT)
    assert all((ROOT / test).exists() for stage in stages for test in stage)
    package, name = module.split("/")
    mirrored = (ROOT / "tests" / package / f"test_{name}").exists()
    assert (stages[0] == (f"tests/{package}/test_{name}",)) == mirrored


def test_mutants_are_killed_loop_or_survive_in_a_copy(tmp_path):
    """A tree with one module and its test, which says nothing of the last line."""
    root = tmp_path / "root"
    texts = {
        "src/castlist/__init__.py": "",
        "src/castlist/export/__init__.py": "",
        "src/castlist/export/timeline.py": (
            "def halves(n):\n    k = 0\n    while n > 1:\n        n //= 2\n        k += 1\n"
            "    return k\n\n\ndef other():\n    return 5\n"
        ),
        "tests/export/test_timeline.py": (
            "from castlist.export.timeline import halves\n\n\n"
            "def test_halves():\n    assert halves(8) == 3\n"
        ),
        "tests/handover/test_none.py": "def test_nothing():\n    pass\n",
    }
    for name, text in texts.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    for words in (["init", "-q"], ["add", "."]):
        subprocess.run(["git", "-C", str(root), *words], check=True)
    tree = Copy(root, tmp_path / "copy")
    module = "src/castlist/export/timeline.py"
    wanted = {"return k → return None": "killed", "return 5 → return 6": "survived"}  # fmt: skip
    outcomes = {
        one.change: tree.judge(one, lambda stage: 20.0).outcome
        for one in mutants_of("export/timeline.py", texts[module])
        if one.change in wanted
    }
    assert outcomes == wanted
    assert (tree.root / module).read_text() == texts[module]
    assert (root / module).read_text() == texts[module]
