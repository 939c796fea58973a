from __future__ import annotations

import numpy as np
import pytest
from scipy.cluster.hierarchy import fcluster, linkage

from castlist.cast.candidates import may_be_one, may_be_two, parts_of
from castlist.cast.evidence import Groups
from tests.cast.test_evidence import facts
from tests.cast.test_questions import some_people


def test_parts_are_those_of_average_linkage():
    points, _ = some_people([6, 5, 4], noise=0.3)
    parts = {tuple(np.flatnonzero(part)) for part in parts_of(points, np.arange(15))}
    tree = linkage(points, "average")
    expected = set()
    for k in range(1, 15):
        labels = fcluster(tree, k, "maxclust")
        for c in np.unique(labels):
            rows = tuple(np.flatnonzero(labels == c))
            if 2 * len(rows) <= 15:
                expected.add(rows)
    assert parts == expected | {(i,) for i in range(15)}


def test_a_large_character_comes_apart_as_a_whole():
    points, _ = some_people([900, 100])
    parts = parts_of(points, np.arange(1000))
    assert any(set(np.flatnonzero(part)) == set(range(900, 1000)) for part in parts)
    assert (2 * parts.sum(axis=1) <= 1000).all()


def test_strangers_in_a_character_are_its_first_doubt():
    points, who = some_people([30, 4, 20])
    place = np.where(who == 1, 0, who)
    place = np.unique(place, return_inverse=True)[1]
    members = [np.flatnonzero(place == k) for k in range(2)]
    groups = Groups.of(points, facts(points), place)

    def doubts(checked=(), compared=()):
        seen = np.isin(np.arange(54), checked)
        found = may_be_two(points, facts(points), members, groups, seen, compared)
        return [doubt.rows.tolist() for doubt in found if doubt.place == 0]

    assert doubts()[0] == [30, 31, 32, 33]
    rows = np.concatenate(doubts())
    assert len(np.unique(rows)) == len(rows)  # no track twice
    assert 2 * len(rows) <= 34
    assert not any(31 in part for part in doubts(checked=[31]))
    # all four were compared with some of the rest and called one: not asked again as four or
    # three, but each may still be a stray one
    left = doubts(compared=[(np.arange(6), np.arange(30, 34))])
    assert max(len({30, 31, 32, 33} & set(part)) for part in left) == 2


def test_the_smaller_of_two_is_asked_about_with_the_likeliest_first():
    likely = np.array([[0, 0.7, 0.9], [0.7, 0, 0.5], [0.9, 0.5, 0]])
    members = [np.arange(2), np.arange(2, 12), np.arange(12, 32)]
    small, middle = may_be_one(likely, members)
    assert (small.place, small.ones, small.likely) == (0, (2, 1), (0.9, 0.7))
    assert small.settles == pytest.approx(2)  # at most all of its tracks
    assert (middle.place, middle.ones) == (1, (2,))
    assert middle.settles == pytest.approx(0.5 * 10)
