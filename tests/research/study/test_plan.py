from __future__ import annotations

import pytest

from castlist import InputError, write_tracks
from castlist.research import read_plan, synthetic_tracks
from castlist.research.training.train_settings import LOSS_NAMES, RECIPES, TrainSettings

START = """
title = "a study"
[train]
tracks = "train.parquet"
validation = "val.parquet"
[[test]]
name = "films"
tracks = ["test.parquet"]
"""


@pytest.fixture
def folder(tmp_path):
    for name in ("train", "val", "test", "other"):
        write_tracks(tmp_path / f"{name}.parquet", synthetic_tracks(3, 6, 2))
    return tmp_path


def plan(folder, text=START):
    (folder / "study.toml").write_text(text, "utf-8")
    return read_plan(folder / "study.toml")


def test_little_is_enough(folder):
    found = plan(folder)
    assert found.seeds == (0, 1, 2)
    names = [method.name for method in found.methods]
    assert names == ["base", *LOSS_NAMES, "neighbours"]
    assert found.tests[0].validation == found.validation == (folder / "val.parquet",)
    ball = found.methods[names.index("ball")]
    assert ball.settings == TrainSettings()
    assert ball.own_threshold
    assert not found.methods[names.index("triplet")].own_threshold
    assert found.methods[-1].settings == RECIPES["neighbours"]


def test_methods_and_ablations_are_changes(folder):
    found = plan(
        folder,
        START
        + """
[method."ball, large"]
like = "ball"
hidden = [512, 256]
finetune = false
[method."base + neighbours"]
like = "base"
rounds = 2
[ablation."batch size"]
of = "ball"
"500" = { batch = 500 }
other = { tracks = "other.parquet" }
""",
    )
    large, near = found.methods[-2:]
    assert large.settings == TrainSettings(hidden=(512, 256))
    assert not large.finetune
    assert large.key == ""  # it is not what the paper's figures are of
    assert near.is_base
    assert near.rounds == 2
    assert [(v.group, v.label) for v in found.variants] == [
        ("batch size", "500"), ("batch size", "other"),
    ]  # fmt: skip
    assert found.variants[0].settings == TrainSettings(batch=500)
    assert found.variants[1].train == (folder / "other.parquet",)


def test_quick_is_the_same_and_less(folder):
    found = plan(folder)
    quick = found.quick()
    assert [m.name for m in quick.methods] == [m.name for m in found.methods]
    assert len(quick.seeds) == 1
    assert all(m.settings.epochs < 10 for m in quick.methods if m.settings)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("title = 1 2", "not TOML"),
        ("finetune_iterations = inf\n" + START, "has the wrong type"),
        (START.replace("test.parquet", "x" * 9999), "has the wrong type"),
        ("title = " + "[" * 20_000, "not TOML"),
        ("title = " + "9" * 5000, "not TOML"),
        ("[" + "a." * 4000 + "a]", "file needs 'title'|not TOML"),
        ("title = 'x'", r"^[^:]*study\.toml: the file needs 'test'$"),
        (START + "[nothing]\n", "'nothing'; known keys"),
        (START.replace("test.parquet", "gone.parquet"), "gone.parquet: no such file"),
        ("methods = ['soup']\n" + START, "unknown method 'soup'"),
        ("seeds = [-1]\n" + START, "seeds must be integers"),
        (START + "[method.ball]\nsoup = 1\n", "'soup'; known keys"),
        (START + "[method.ball]\nalpha = -1\n", "alpha must be 0 or more"),
        (START + "[method.ball]\nconstraints = 'x'\n", "constraints must be 'ball'"),
        (START + "[method.mine]\nlike = 'soup'\n", "like must be one of"),
        (START + "[ablation.batch]\nof = 'base'\n", "of must be one of"),
        (START.replace('tracks = "train.parquet"', ""), r"\[train\] needs tracks"),
        (START.replace('validation = "val.parquet"', ""), "needs validation tracks"),
        ("seeds = 3\n" + START, "has the wrong type"),
        (START + "[method.ball]\nhidden = 512\n", "has the wrong type"),
        (START + "[method.base]\nalpha = 3\n", "has the wrong type"),
        ("seeds = [1, 1]\n" + START, "seed 1 is defined twice"),
        ("methods = ['ball', 'ball']\n" + START, "method 'ball' is defined twice"),
    ],
)
def test_what_is_wrong_is_said(folder, text, message):
    with pytest.raises(InputError, match=message):
        plan(folder, text)


def test_no_such_file(tmp_path):
    with pytest.raises(InputError, match=r"study\.toml"):
        read_plan(tmp_path / "study.toml")
