from __future__ import annotations

import json
import zipfile
from pathlib import Path

import numpy as np
import pytest

from castlist import InputError, TrackSet, read_tracks
from castlist.video.describe import open_describer
from castlist.video.detect import open_detector
from datasets import recast


def tracks_of(counts):
    names = [name for name, count in counts.items() for _ in range(count)]
    return TrackSet.from_faces(np.arange(len(names)), identity=names)


def people(prefix, count):
    return {
        f"{prefix}{i}": [Path(f"{prefix}{i}_{k}.jpg") for k in range(i + 1)] for i in range(count)
    }


def test_everybody_gets_somebody_and_nobody_plays_two():
    tracks = tracks_of({"buffy": 9, "dawn": 3, "unknown_1": 2, "unknown_2": 5})
    named, background = people("Star_", 4), people("Extra_", 6)
    background["star 3"] = [Path("x.jpg")] * 9  # the same person as Star_3, spelt otherwise
    for seed in range(20):
        players = recast.choose_players(tracks, named, background, np.random.default_rng(seed))
        assert set(players) == {"buffy", "dawn", "unknown_1", "unknown_2"}
        keys = [recast.key(person) for person in players.values()]
        assert len(set(keys)) == 4
        assert {players["buffy"], players["dawn"]} <= set(named)
        # The larger part has the more photographs.
        assert len(named[players["buffy"]]) > len(named[players["dawn"]])
        everybody = {**named, **background}
        extras = [len(everybody[players[f"unknown_{i}"]]) for i in (2, 1)]
        assert extras == sorted(extras, reverse=True)


def test_look_alikes_are_those_nearest_to_one_person():
    rng = np.random.default_rng(0)
    named, background = people("Star_", 8), people("Extra_", 30)
    looks = {who: one / np.linalg.norm(one) for who in [*named, *background]
             if len(one := rng.normal(size=16))}  # fmt: skip
    tracks = tracks_of({"buffy": 9, "dawn": 3, "unknown_1": 2, "unknown_2": 5})

    def likeness(players):
        chosen = np.array([looks[who] for who in players.values()])
        return (chosen @ chosen.T)[np.triu_indices(4, 1)].mean()

    drawn, alike = (
        np.mean([
            likeness(recast.choose_players(tracks, named, background, np.random.default_rng(s), of))
            for s in range(20)
        ])
        for of in (None, looks)
    )  # fmt: skip
    assert alike > drawn + 0.1


def test_too_few_people():
    with pytest.raises(InputError, match="2 characters to play and 1 people"):
        recast.choose_players(
            tracks_of({"a": 1, "b": 1}), people("S", 1), people("E", 1), np.random.default_rng(0)
        )


def test_all_photographs_are_used_before_any_is_used_again():
    identity = np.array(["a"] * 10 + ["b"] * 3)
    dealt = recast._deal(identity, {"a": 4, "b": 8}, seed=0)
    counts = np.bincount(dealt[:10], minlength=4)
    assert counts.min() >= 2
    assert counts.max() <= 3
    assert len(set(dealt[10:])) == 3


@pytest.mark.parametrize("n", [1, 2, 4, 5, 100])
def test_faces_are_spread_along_a_track(n):
    chosen = recast._spread(n)
    assert len(chosen) == len(set(chosen)) == min(n, recast.FACES)
    assert chosen.min() >= 0
    assert chosen.max() < n
    if n == 100:
        assert (np.diff(chosen) == 25).all()


def test_an_episode_keeps_all_but_its_faces(authors, faces, tmp_path):
    """A few real tracks of the paper's, with real faces."""
    whole = read_tracks(authors)
    first = np.flatnonzero(whole.video == 0)
    wanted = ("leonard", "penny", "unknown_e01_1@bbt")
    own = np.concatenate([first[whole.identity[first] == name][:6] for name in wanted])
    tracks = whole[np.sort(own)]
    photos = {}
    with zipfile.ZipFile(faces / "pins.zip") as pins:
        files = sorted(name for name in pins.namelist() if name.endswith(".jpg"))
        stars = sorted({name.split("/")[1] for name in files})[:3]
        for name, star in zip(wanted, stars, strict=True):
            some = [file for file in files if file.split("/")[1] == star][:4]
            photos[name] = [Path(pins.extract(file, tmp_path)) for file in some]
    made, pictures = recast.recast(tracks, photos, open_detector, open_describer, seed=5)
    again, _ = recast.recast(tracks, photos, open_detector, open_describer, seed=5)
    for part in ("ids", "identity", "offsets", "frame", "box"):
        np.testing.assert_array_equal(getattr(made, part), getattr(tracks, part))
    np.testing.assert_array_equal(made.overlaps(), tracks.overlaps())
    np.testing.assert_array_equal(made.mean_features(), again.mean_features())
    assert len(pictures) == len(tracks)
    described = np.add.reduceat(made.features.described, made.offsets[:-1])
    np.testing.assert_array_equal(described, np.minimum(tracks.face_counts, recast.FACES))
    x = made.mean_features()
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    same = made.identity[:, None] == made.identity
    np.fill_diagonal(same, False)
    different = made.identity[:, None] != made.identity
    assert (x @ x.T)[same].mean() > (x @ x.T)[different].mean() + 0.25


def test_a_folder_is_recast_once(authors, faces, tmp_path, monkeypatch):
    calls = []

    def fill(tracks, photos, *_, **__):
        calls.append(photos)
        raise KeyboardInterrupt

    monkeypatch.setattr(recast, "recast", fill)
    named, background = people("S", 40), people("E", 200)
    with pytest.raises(KeyboardInterrupt):
        recast.recast_folder(authors, tmp_path / "out", named, background, videos="bbt_*")
    assert len(calls[0]) == 103
    assert not (tmp_path / "out" / "cast.json").exists()
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "cast.json").write_text(json.dumps({"seed": 0}))
    recast.recast_folder(authors, tmp_path / "out", named, background, videos="bbt_*")
    assert len(calls) == 1
    with pytest.raises(InputError, match="no episode is called"):
        recast.recast_folder(authors, tmp_path / "other", named, background, videos="soap_*")
