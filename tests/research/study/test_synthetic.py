from __future__ import annotations

import numpy as np
import pytest

from castlist import InputError
from castlist.research import SyntheticWorld, synthetic_tracks
from castlist.research.study.synthetic import long_tail


def test_the_tail_is_like_the_papers():
    counts = long_tail(1200, 60_000)
    assert (len(counts), counts.sum(), counts.min()) == (1200, 60_000, 1)
    assert (counts <= 2).sum() > 200  # many with one or two tracks
    assert counts.max() > 2000  # some with thousands
    # The paper's table of batch sizes: of 2,000 tracks, about 450 people, 90 with more than 5.
    people = np.repeat(np.arange(1200), counts)
    rng = np.random.default_rng(0)
    seen = [np.bincount(rng.choice(people, 2000, replace=False)) for _ in range(20)]
    assert np.mean([(n > 0).sum() for n in seen]) == pytest.approx(450, rel=0.1)
    assert np.mean([(n > 5).sum() for n in seen]) == pytest.approx(90, rel=0.25)


def test_the_same_seed_draws_the_same_set():
    world = SyntheticWorld(dim=16, who=4, how=6)
    first, second = (synthetic_tracks(5, 40, 3, world=world, seed=1) for _ in range(2))
    np.testing.assert_array_equal(first.features, second.features)
    other = synthetic_tracks(5, 40, 3, world=world, seed=2, first_identity=100)
    assert not set(first.identity) & set(other.identity)
    assert first.face_counts.tolist() == [3] * 40
    np.testing.assert_allclose(np.linalg.norm(first.features, axis=1), 1, rtol=1e-5)


def test_more_people_than_tracks_are_refused():
    with pytest.raises(InputError, match="cannot give 3 tracks to 5 identities"):
        long_tail(5, 3)
