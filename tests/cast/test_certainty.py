from __future__ import annotations

import numpy as np
import pytest

from castlist.cast.certainty import (
    TRACK_OFFSET,
    TRACK_SLOPE,
    certainty,
    margins,
    track_certainty,
    track_margins,
)


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


@pytest.mark.parametrize("people", [1, 2, 6])
def test_the_margin_of_a_character_is_the_formula(people):
    """Its least similar track, less the mean similarity of its tracks to the three nearest."""
    rng = np.random.default_rng(people)
    x, labels = rng.normal(size=(25, 8)), rng.integers(0, people, 25)
    labels[-1] = 99  # alone
    cohesion, others, count = margins(x, labels)
    x = x / np.linalg.norm(x, axis=1, keepdims=True)
    for k, label in enumerate(np.unique(labels)):
        own, away = np.flatnonzero(labels == label), np.flatnonzero(labels != label)
        rest = [np.mean([x[i] @ x[j] for j in own if j != i]) for i in own if len(own) > 1]
        near = [np.mean(sorted((x[i] @ x[j] for j in away), reverse=True)[:3]) for i in own]
        assert count[k] == len(own)
        assert others[k] == pytest.approx(np.mean(near), abs=1e-6)
        if rest:
            assert cohesion[k] == pytest.approx(min(rest), abs=1e-6)
    assert [len(part) for part in margins(x[:0], labels[:0])] == [0, 0, 0]


def test_one_wrong_track_makes_its_character_doubtful_and_a_lookalike_a_single_one():
    middles = np.eye(12)[:5]
    x = np.concatenate([np.repeat(middles[:3], 5, axis=0), middles[3:]])
    labels = np.array([0] * 5 + [1] * 5 + [2] * 5 + [3, 4])
    x[4] = middles[1]  # a track of the second person is in the first character
    x[-1] = middles[2] + 0.3 * middles[4]  # and a single one looks like the third person
    wrong, right, third, single, lookalike = certainty(x, labels)
    assert wrong < 0.7 < min(right, third)
    assert lookalike < 0.5 < 0.9 < single


def test_a_large_character_is_sampled_evenly():
    """Of 3,000 equal tracks some are compared: the result is that of all."""
    rng = np.random.default_rng(0)
    x = np.repeat(rng.normal(size=(3, 8)), [3000, 4, 1], axis=0)
    labels = np.repeat([5, 6, 7], [3000, 4, 1])
    few = np.r_[:10, 3000:3005]
    for whole, part in zip(margins(x, labels)[:2], margins(x[few], labels[few])[:2], strict=True):
        np.testing.assert_allclose(whole, part, atol=1e-6)
