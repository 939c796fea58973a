from __future__ import annotations

import numpy as np
import pytest

from castlist.cast.certainty import TRACK_OFFSET, TRACK_SLOPE, track_certainty, track_margins


def by_hand(x, labels):
    """Return the margin of each track, one by one."""
    x = x / np.linalg.norm(x, axis=1, keepdims=True)
    found = []
    for i in range(len(x)):
        own = [x[i] @ x[j] for j in range(len(x)) if j != i and labels[j] == labels[i]]
        other = sorted((x[i] @ x[j] for j in range(len(x)) if labels[j] != labels[i]), reverse=True)
        away = np.mean(other[:3]) if other else 0.0
        found.append(np.mean(own) - away if own else np.nan)
    return np.array(found)


@pytest.mark.parametrize("people", [1, 2, 7])
def test_a_tracks_margin_is_the_formula(people):
    rng = np.random.default_rng(people)
    x, labels = rng.normal(size=(30, 8)), rng.integers(0, people, 30)
    labels[-1] = 99  # alone
    found = track_margins(x, labels)
    np.testing.assert_allclose(found, by_hand(x, labels), atol=1e-6)
    known = ~np.isnan(found)
    expected = 1 / (1 + np.exp(-TRACK_SLOPE * found[known] - TRACK_OFFSET))
    np.testing.assert_allclose(track_certainty(x, labels)[known], expected)
    assert track_certainty(x, labels)[-1] == 1


def test_the_track_of_somebody_else_is_the_least_certain():
    rng = np.random.default_rng(3)
    middles = rng.normal(size=(3, 32))
    who = np.repeat(np.arange(3), 6)
    x = middles[who] + 0.2 * rng.normal(size=(18, 32))
    labels = who.copy()
    labels[4] = 2
    sure = track_certainty(x, labels)
    assert sure.argmin() == 4
    assert sure[4] < 0.5
    assert np.delete(sure, 4).min() > 0.9


def test_no_track_at_all():
    assert len(track_certainty(np.empty((0, 4)), np.empty(0, int))) == 0
