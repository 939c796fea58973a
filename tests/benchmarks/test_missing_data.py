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
        ("bench_scan nothere", "nothere is no folder of .mp4 files"),
        ("bench_scan", "None is no folder of .mp4 files"),
        ("study_data nothere work", "there is no nothere/authors"),
        ("bench_neighbours nothere", "there is no nothere/val.parquet"),
        ("bench_cuts --data nothere", "there is no nothere/clips"),
        ("cut_videos out --data nothere", "there is no nothere/clips"),
        ("bench_review --episodes nothere", "no clips with truth"),
        ("bench_pairs casts nothere", "nothere has no truth"),
        ("bench_model nothere", "nothere has no track files"),
        ("fit_certainty casts nothere nothere", "no truth, or no episodes"),
    ],
)
def test_missing_data_are_named(words, said, tmp_path, monkeypatch, capsys):
    assert ended(monkeypatch, tmp_path, *words.split()) == 2
    assert said in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["demo", "bench_loss"])
def test_help_is_help(name, tmp_path, monkeypatch, capsys):
    assert ended(monkeypatch, tmp_path, name, "--help") == 0
    assert capsys.readouterr().out.startswith("usage:")
    assert not list(tmp_path.iterdir())
