"""A benchmark without its data says so, in place of a traceback or a table of zeros."""

from __future__ import annotations

import sys
from importlib import import_module

import pytest


def ended(monkeypatch, folder, name, *words):
    """Run a benchmark in a folder; return the code that it ends with."""
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "argv", [f"{name}.py", *words])
    with pytest.raises(SystemExit) as end:
        import_module(name).main()
    return end.value.code


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("benchmarks.bench_scan nothere", "nothere is no folder of .mp4 files"),
        ("benchmarks.bench_scan", "None is no folder of .mp4 files"),
        ("datasets.study_data nothere work", "there is no nothere/authors"),
        ("benchmarks.bench_neighbours nothere", "there is no nothere/val.parquet"),
        ("benchmarks.bench_cuts --data nothere", "there is no nothere/clips"),
        ("datasets.cut_videos out --data nothere", "there is no nothere/clips"),
        ("benchmarks.bench_review --episodes nothere", "no clips with truth"),
        ("benchmarks.bench_pairs casts nothere", "nothere has no truth"),
        ("benchmarks.bench_photos nothere nothere", "have no person in common"),
        ("benchmarks.bench_model nothere", "nothere has no track files"),
        ("datasets.fit_certainty casts nothere nothere", "no truth, or no episodes"),
    ],
)
def test_missing_data_are_named(words, said, tmp_path, monkeypatch, capsys):
    assert ended(monkeypatch, tmp_path, *words.split()) == 2
    assert said in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["datasets.demo", "benchmarks.bench_loss"])
def test_help_is_help(name, tmp_path, monkeypatch, capsys):
    assert ended(monkeypatch, tmp_path, name, "--help") == 0
    assert capsys.readouterr().out.startswith("usage:")
    assert not list(tmp_path.iterdir())
