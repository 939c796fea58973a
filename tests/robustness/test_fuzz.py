from __future__ import annotations

import gc
from random import Random

import pytest

from robustness.fuzz_arena import Arena, Failures, what_failed
from robustness.fuzz_readers import READERS


@pytest.mark.parametrize("name", READERS)
def test_valid_files_are_taken_and_hostile_ones_end_well(tmp_path, name):
    arena = Arena(name, tmp_path / "home")
    for data in arena.seeds():
        assert arena.read(data) == arena.reader.valid
    for seed in range(20, 25):
        data = arena.forge(Random(seed))
        arena.read(data)  # a result or a castlist error: anything else is raised here
        if name == "log":
            gc.collect()  # who was refused may hold the database open
    assert [file.read_bytes() for file in arena.files] == arena.whole


def test_failures_are_kept_one_a_kind(tmp_path):
    failures = Failures(tmp_path, "mot")
    for data in (b"a", b"b"):
        try:
            int("x")
        except ValueError as error:
            failures.keep(what_failed(error), data)
    ((what, text),) = failures.all()
    assert what.startswith("ValueError at test_fuzz.py:")
    assert text.with_suffix(".bin").read_bytes() == b"a"
