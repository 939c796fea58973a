from __future__ import annotations

import numpy as np
import pytest

from castlist import InputError, TrackSet, split_identities
from castlist.learn.batches import uniform_batches


def test_no_identity_is_on_both_sides(made):
    split = split_identities(made, 0.1, seed=4)
    train, validation = set(made.identity[split.train]), set(made.identity[split.validation])
    assert not train & validation
    assert len(validation) == 6
    assert len(split.train) + len(split.validation) == len(made)
    again = split_identities(made, 0.1, seed=4)
    np.testing.assert_array_equal(split.train, again.train)
    assert set(made.identity[split_identities(made, 0.1, seed=5).validation]) != validation


def test_test_identities_are_in_neither(made):
    banned = sorted(set(made.identity))[:20]
    split = split_identities(made, 0.1, exclude=banned)
    used = set(made.identity[np.concatenate([split.train, split.validation])])
    assert used == set(made.identity) - set(banned)


def test_unlabelled_tracks_are_left_out(made):
    unnamed = made.with_identity(np.where(np.arange(len(made)) < 700, "", made.identity))
    split = split_identities(unnamed)
    assert np.concatenate([split.train, split.validation]).min() >= 700


def test_too_few_identities_are_refused(made):
    with pytest.raises(InputError, match="too few to train on"):
        split_identities(made, exclude=sorted(set(made.identity))[2:])
    with pytest.raises(InputError, match="between 0 and 1"):
        split_identities(made, 1.0)


def test_an_epoch_sees_every_track_once_by_one_of_its_faces():
    counts = np.array([1, 5, 2, 9, 1, 3, 30])
    tracks = TrackSet.from_faces(
        np.repeat(np.arange(7), counts), feature=np.arange(counts.sum())[:, None]
    )
    rng = np.random.default_rng(0)
    drawn = {i: set() for i in range(7)}
    for _ in range(400):
        batches = list(uniform_batches(tracks, np.arange(7), 3, rng))
        assert sorted(len(x) for x, _ in batches) == [3, 4]
        assert sorted(np.concatenate([y for _, y in batches])) == list(range(7))
        for x, y in batches:
            for face, track in zip(x[:, 0], y, strict=True):
                drawn[int(track)].add(int(face))
    for i in range(7):  # every face of a track is drawn sometimes, and no other
        assert drawn[i] == set(range(tracks.offsets[i], tracks.offsets[i + 1]))
