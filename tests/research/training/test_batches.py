from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from castlist import InputError, TrackSet
from castlist.research import split_identities
from castlist.research.training.batches import (
    CASTS,
    MAX_TRACKS,
    MIN_CAST_SIZE,
    cast_batches,
    random_half,
    uniform_batches,
)


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


def test_half_of_the_faces_is_drawn_uniformly_and_averaged():
    counts = np.array([1, 5, 2, 4])
    starts = np.array([10, 40, 20, 70])
    rng = np.random.default_rng(0)
    seen = np.zeros(100, int)
    for _ in range(2000):
        faces, offsets = random_half(starts, counts, rng)
        np.testing.assert_array_equal(np.diff(offsets), [1, 3, 1, 2])
        for run in range(4):
            mine = faces[offsets[run] : offsets[run + 1]]
            assert len(set(mine.tolist())) == len(mine)
            assert (mine >= starts[run]).all()
            assert (mine < starts[run] + counts[run]).all()
        seen[faces] += 1
    for run, share in enumerate([1, 3 / 5, 1 / 2, 1 / 2]):
        drawn = seen[starts[run] : starts[run] + counts[run]] / 2000
        np.testing.assert_allclose(drawn, share, atol=0.06)

    tracks = TrackSet.from_faces(np.repeat(np.arange(4), counts), feature=np.eye(12))
    means = np.empty((4, 12))
    for x, y in uniform_batches(tracks, np.arange(4), 2, rng, average_half=True):
        means[y] = x
    np.testing.assert_allclose(means.sum(1), 1, rtol=1e-6)  # each row a mean of unit vectors
    assert [sorted(set(row[row > 0].round(6).tolist())) for row in means] == [
        [1.0], [0.333333], [1.0], [0.5]
    ]  # fmt: skip
    for track, row in enumerate(means):
        own = slice(tracks.offsets[track], tracks.offsets[track + 1])
        assert row[own].sum() > 0.999


@given(
    counts=st.lists(st.integers(1, 90), min_size=1, max_size=60), people=st.integers(1, 50),
    seed=st.integers(0, 99),
)  # fmt: skip
@settings(max_examples=30, deadline=None)
def test_made_casts_have_few_people_and_no_track_twice(counts, people, seed):
    labels = np.random.default_rng(seed).permutation(np.repeat(np.arange(len(counts)), counts))
    batches = list(cast_batches(labels, people, np.random.default_rng(seed)))
    drawn = [rows for batch in batches for rows in batch]
    assert all(len(batch) == CASTS for batch in batches)
    assert sum(map(len, drawn[: -CASTS or None])) < len(labels) <= sum(map(len, drawn))
    for rows in drawn:
        assert len(np.unique(rows)) == len(rows)
        found, sizes = np.unique(labels[rows], return_counts=True)
        assert min(MIN_CAST_SIZE, people, len(counts)) <= len(found) <= min(people, len(counts))
        assert sizes.max() <= MAX_TRACKS
    again = cast_batches(labels, people, np.random.default_rng(seed))
    for one, other in zip(drawn, [rows for batch in again for rows in batch], strict=True):
        np.testing.assert_array_equal(one, other)


def test_made_casts_are_skewed_and_of_many_sizes():
    labels = np.repeat(np.arange(200), 80)
    drawn = [rows for batch in cast_batches(labels, 40, np.random.default_rng(0)) for rows in batch]
    people = [len(np.unique(labels[rows])) for rows in drawn]
    assert min(people) <= 4 < 30 <= max(people)
    sizes = np.concatenate([np.unique(labels[rows], return_counts=True)[1] for rows in drawn])
    assert np.median(sizes) <= 4 < 20 <= np.quantile(sizes, 0.9)
