from __future__ import annotations

from pathlib import Path

import numpy as np

from datasets.film_tracks import ACTORS, FACES, FOLDS, LOOKS, empty_tracks, folds, split


def people(count):
    return {f"P{i:04d}": [Path(f"{i}_{k}.jpg") for k in range(1 + i % 7)] for i in range(count)}


def test_everybody_is_in_one_fold():
    made = folds(list(people(53)))
    assert len(made) == FOLDS
    assert sorted(who for one in made for who in one) == sorted(people(53))
    assert max(map(len, made)) - min(map(len, made)) <= 1
    assert made == folds(list(reversed(people(53))))  # whatever the order of folders


def test_photographs_become_tracks_with_boxes():
    photos = people(10)
    tracks = empty_tracks(photos)
    assert len(tracks) == LOOKS * sum(map(len, photos.values()))
    assert (tracks.face_counts == FACES).all()
    assert 30 <= tracks.box[:, 2].min() < tracks.box[:, 2].max() <= 200


def test_nobody_is_trained_and_validated_on():
    tracks = empty_tracks(people(2000))
    train, validation, pool = split(tracks)
    names = [set(one.identity.tolist()) for one in (train, validation, pool)]
    assert len(names[0] | names[1]) == ACTORS
    assert len(names[1]) == 64
    assert not names[0] & names[1]
    assert not names[1] & names[2]
    assert names[0] < names[2]
    # The actors are those with most tracks.
    counts = dict(zip(*np.unique(tracks.identity, return_counts=True), strict=True))
    least = min(counts[who] for who in names[0] | names[1])
    assert all(counts[who] <= least for who in names[2] - names[0])
