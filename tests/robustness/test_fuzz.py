from __future__ import annotations

import gc
from random import Random

import pytest

pytest.importorskip("resource", reason="Windows has no limits of memory")

from robustness.fuzz_arena import Arena, Failures, what_failed
from robustness.fuzz_readers import READERS


@pytest.mark.parametrize("forged", [2, pytest.param(20, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", READERS)
def test_valid_files_are_read_and_hostile_ones_read_or_refused(tmp_path, name, forged):
    arena = Arena(name, tmp_path / "home")
    for data in arena.seeds():
        assert arena.read(data) == arena.reader.valid
    for seed in range(20, 20 + forged):
        data = arena.forge(Random(seed))
        arena.read(data)  # a result or a castlist error: anything else is raised here
        if name == "log":
            gc.collect()  # a refused reader may hold the database open
    assert [file.read_bytes() for file in arena.files] == arena.whole


def test_one_failure_per_kind_is_kept(tmp_path):
    failures = Failures(tmp_path, "mot")
    for data in (b"a", b"b"):
        try:
            int("x")
        except ValueError as error:
            failures.keep(what_failed(error), data)
    ((what, text),) = failures.all()
    assert what.startswith("ValueError at test_fuzz.py:")
    assert text.with_suffix(".bin").read_bytes() == b"a"
