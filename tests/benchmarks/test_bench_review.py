"""The reviewer of ``bench_review.py``, held against every way to correct a small cast."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks import bench_review
from tests.cast.test_evidence import facts
from tests.cast.test_questions import some_people


def canonical(labels):
    first = list(dict.fromkeys(labels))
    return tuple(first.index(label) for label in labels)


def fewest(labels, truth):
    """Try all sequences of actions: tracks of one person go from one character to another."""
    wanted, seen = canonical(truth), {canonical(labels)}
    level, actions = set(seen), 0
    while wanted not in level:
        reached = set()
        for now in level:
            for here, person in {*zip(now, truth, strict=True)}:
                for to in range(max(now) + 2):
                    moved = [to if (a, b) == (here, person) else a
                             for a, b in zip(now, truth, strict=True)]  # fmt: skip
                    reached.add(canonical(moved))
        level, actions = reached - seen, actions + 1
        seen |= reached
    return actions


def case(truth, labels):
    points = np.ones((len(labels), 2), np.float32)
    return bench_review.Case("made", np.array(truth), np.array(labels), points, facts(points))


def test_by_hand_is_the_least():
    rng = np.random.default_rng(0)
    for _ in range(100):
        truth, labels = (rng.integers(0, 3, 6).tolist() for _ in range(2))
        assert bench_review.by_hand(case(truth, labels), np.array(labels))[0] == fewest(
            labels, truth
        )


@pytest.mark.parametrize(
    ("truth", "labels", "expected"),
    [
        ([0, 0, 0, 1], [1, 2, 3, 4], (2, 1)),  # three pieces, chosen and merged at once
        ([0, 0, 0, 1], [1, 1, 1, 1], (1, 1)),
        ([0, 0, -1, 1], [1, 1, 1, 2], (0, 0)),  # what nobody knows is left alone
        ([-1, -1], [1, 2], (0, 0)),
    ],
)
def test_by_hand(truth, labels, expected):
    assert bench_review.by_hand(case(truth, labels), np.array(labels)) == expected


def test_questions_bring_a_made_cast_right():
    points, who = some_people([12, 9, 6, 3], noise=0.05)
    labels = who.copy()
    labels[:3], labels[12:14], labels[25] = 9, 0, 1
    made = bench_review.Case("made", who, labels, points, facts(points))
    asked, changed, left, until_none, last = bench_review.by_questions(made)
    assert (asked, changed, left) == (1, 3, 0)
    assert bench_review.by_hand(made, labels)[0] == 3
    assert until_none >= asked
    assert last == 1
