from __future__ import annotations

import csv
import json
from functools import partial

import numpy as np
import pytest

from castlist import TrackSet, load_model, write_tracks
from castlist.research import SyntheticWorld, synthetic_tracks
from tests.programs import castlist

research = partial(castlist, "research")

WORLD = SyntheticWorld(dim=32, who=10, how=14, loudness=1.2)


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """A trained model, and tracks of people it never saw."""
    folder = tmp_path_factory.mktemp("données with spaces")
    write_tracks(folder / "train.parquet", synthetic_tracks(60, 1500, 4, world=WORLD, seed=1))
    unseen = synthetic_tracks(12, 200, 4, world=WORLD, seed=2, first_identity=1000)
    write_tracks(folder / "unseen.parquet", unseen)
    options = "--recipe paper --epochs 25 --batch 300 --rate 0.02 --hidden 32 --embedding 16"
    options += " --freeze-b 2 --fraction 0.25"
    train = ("train", folder / "train.parquet", "-o", folder / "run", *options.split())
    return folder, train, research(*train, "--json")


def test_train(data):
    folder, train, done = data
    report = json.loads(done.stdout)
    assert report["model"] == str(folder / "run" / "model.safetensors")
    assert report["threshold"] == pytest.approx(4 * report["validation"]["b"])
    assert len((folder / "run" / "log.jsonl").read_text().splitlines()) == 25
    again = research(*train)  # finished already: the table, at once
    assert "NMI" in again.stdout
    assert f"{report['validation']['nmi']:.4f}" in again.stdout


def test_finetune(data):
    folder, _, _ = data
    tracks, model = folder / "unseen.parquet", folder / "run" / "model.safetensors"
    done = research("finetune", tracks, "--model", model, "-o", folder / "tuned.safetensors")
    assert "tracks share a frame: there is nothing to learn from" in done.stdout
    assert load_model(folder / "tuned.safetensors").threshold == load_model(model).threshold
    done = castlist(
        "research",
        "finetune",
        tracks,
        "--model",
        folder / "gone.safetensors",
        "-o",
        folder / "x",
        code=2,
    )
    assert "no such model file" in done.stderr


@pytest.mark.slow
def test_study(data):
    folder, _, _ = data
    plan = folder / "study.toml"
    plan.write_text(
        """
title = "Unseen people"
seeds = [0]
methods = ["base", "mine"]
[train]
tracks = "train.parquet"
[[test]]
name = "unseen"
tracks = "unseen.parquet"
validation = "unseen.parquet"
[method.mine]
model = "run/model.safetensors"
""",
        "utf-8",
    )
    done = research("study", plan, "-o", folder / "study", "--quick")
    assert done.stdout.split("\n")[0] == str(folder / "study" / "index.html")
    assert "Unseen people" in (folder / "study" / "index.html").read_text("utf-8")
    plan.write_text("title = ", "utf-8")
    assert "not TOML" in research("study", plan, "-o", folder / "study", code=2).stderr


def test_train_with_a_rival_loss(data):
    folder, _, _ = data
    options = "--loss triplet --epochs 4 --batch 300 --hidden 32 --embedding 16 --fraction 0.25"
    options += " --validate-every 2 --weight-decay 0.0001 --average-half --no-normalise"
    done = castlist(
        "research", "train", folder / "train.parquet", "-o", folder / "rival", *options.split()
    )
    model = load_model(folder / "rival" / "model.safetensors")
    best = model.validation
    assert model.threshold == best["operating"] != 4 * best["b"]
    assert best["epoch"] in (1, 3)
    assert not model.normalise
    assert (model.settings["loss"], model.settings["average_half"]) == ("triplet", True)
    header, row = done.stdout.splitlines()[:2]
    assert header.split() == ["validation", "epoch", "b", "τ", "#Ch", "#Cl", "NMI", "WCP"]
    assert row.split()[:4] == ["operating", str(best["epoch"]), "–", f"{best['operating']:.4f}"]


def test_evaluate(data):
    folder, _, _ = data
    model = folder / "run" / "model.safetensors"
    done = research("evaluate", folder / "unseen.parquet", "-m", model, "--json")
    scores = json.loads(done.stdout)
    assert scores["n_characters"] == 12
    assert scores["nmi"] > 0.7
    figure = folder / "curve.png"
    table = castlist(
        "research", "evaluate", folder / "unseen.parquet", "-m", model, "--figure", figure
    ).stdout
    assert f"{scores['nmi']:.4f}" in table
    assert str(figure) in table
    assert figure.read_bytes().startswith(b"\x89PNG")


def test_cluster(data):
    folder, _, _ = data
    model, out = folder / "run" / "model.safetensors", folder / "characters.csv"
    done = castlist("cluster", folder / "unseen.parquet", "-m", model, "-o", out)
    rows = list(csv.DictReader(out.open(encoding="utf-8")))
    assert len(rows) == 200
    n_characters = len({row["character"] for row in rows})
    assert f"200 tracks, {n_characters} characters" in done.stdout
    report = json.loads(
        castlist("cluster", folder / "unseen.parquet", "-m", model, "--json").stdout
    )
    assert report["n_characters"] == n_characters
    assert sum(report["sizes"]) == 200
    seven = castlist("cluster", folder / "unseen.parquet", "--characters", 7, "--json").stdout
    assert json.loads(seven)["n_characters"] == 7


def test_the_number_of_characters_overrides_shared_frames(tmp_path):
    path = tmp_path / "crowd.parquet"
    tracks = TrackSet.from_faces(
        ["a", "b", "c", "d"], feature=[[0.0], [0.1], [0.3], [9.0]], frame=[1, 1, 1, 5]
    )
    write_tracks(path, tracks)
    words = ("cluster", path, "--cannot-link-overlaps", "--characters")
    said = castlist(*words, 2).stdout
    assert "4 tracks, 2 characters\n2 characters required 1 pair of tracks" in said
    assert "in one character: tracks a and b." in said
    found = json.loads(castlist(*words, 1, "--json").stdout)
    assert found["given_up"]["count"] == 3
    assert found["given_up"]["pairs"][0] == {"tracks": ["a", "b"], "time": None}
    assert json.loads(castlist(*words, 3, "--json").stdout)["given_up"]["count"] == 0
    assert "cannot make 5 characters of 4 tracks" in castlist(*words, 5, code=2).stderr


def test_stats(data):
    folder, _, _ = data
    figure = folder / "skew.svg"
    done = research("stats", folder / "unseen.parquet", "--figure", figure)
    assert done.stdout.split()[:3] == ["made", "#Ch", "12"]
    assert figure.exists()
    (column,) = json.loads(research("stats", folder / "unseen.parquet", "--json").stdout)
    assert (column["n_characters"], column["n_tracks"]) == (12, 200)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("research stats missing.parquet", "missing.parquet: no such file or folder"),
        (
            "research evaluate {unseen} -m missing.safetensors",
            "missing.safetensors: no such model file",
        ),
        ("cluster {unseen}", "give a model, a threshold or a number of characters"),
        ("cluster {unseen} --threshold -1", "0 or more"),
        ("research stats {unseen} --figure skew.gif", ".png, .svg, .pdf"),
        ("research train {unseen} -o run --hidden 1,x", "--hidden must be comma-separated numbers"),
        ("research train {unseen} -o run --rate 0", "rate must be positive"),
        (
            "research train {unseen} -o run --loss luck",
            "loss must be one of ball, cross-entropy, ldml,",
        ),
        ("research train {unseen} -o run --fraction 0.99", "too few to train on"),
        ("frobnicate", "No such command"),
    ],
)
def test_mistakes_are_one_message_and_exit_code_2(data, words, message, tmp_path):
    unseen = str(data[0] / "unseen.parquet").replace(" ", "\0")
    parts = [part.replace("\0", " ") for part in words.format(unseen=unseen).split()]
    done = castlist(*parts, code=2)
    assert message in " ".join(done.stderr.replace("│", " ").split())


def test_features_of_another_describer_are_refused(data, tmp_path):
    from castlist import TrackSet

    write_tracks(tmp_path / "v.parquet", TrackSet.from_faces([1, 2], feature=np.eye(2, 7)))
    done = castlist(
        "cluster", tmp_path / "v.parquet", "-m", data[0] / "run" / "model.safetensors", code=2
    )
    assert "takes 32-d features of made" in done.stderr


def test_read_names(data, tmp_path):
    names = tmp_path / "names.txt"
    names.write_text("\ufeffperson 00003\n\n person 00004 \n", encoding="utf-8")
    from castlist.cli.common import read_names
    from castlist.errors import InputError

    assert read_names(names) == {"person 00003", "person 00004"}
    names.write_bytes("Zoë".encode("latin-1"))
    for bad in (names, tmp_path):
        with pytest.raises(InputError, match="cannot read a list of names"):
            read_names(bad)


def test_brackets_in_names_are_not_markup(tmp_path):
    from castlist import TrackSet

    one = TrackSet.from_faces([1], identity=["x"], video="show[/hd] [red]")
    write_tracks(tmp_path / "v.parquet", one)
    assert "show[/hd] [red]" in research("stats", tmp_path / "v.parquet").stdout
