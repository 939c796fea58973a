from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from castlist import TrackSet
from castlist.cast.evidence import (
    Facts,
    Groups,
    between,
    inside,
    likely_between,
    likely_inside,
    shared_frames,
)
from datasets.synthetic_casts import made_video

NO_FRAMES = np.empty((0, 2), np.int64)


def facts(looks, stretch=None, overlaps=NO_FRAMES, faces=None, large=None):
    n = len(looks)
    return Facts(
        np.asarray(looks, np.float32), overlaps,
        np.ones(n) if faces is None else np.asarray(faces, float),
        np.zeros(n) if large is None else np.asarray(large, float),
        np.zeros(n, np.int64) if stretch is None else np.asarray(stretch),
    )  # fmt: skip


def test_between_by_hand():
    points = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 0.0]])
    known = facts(
        [[1, 0], [1, 0], [0, 1], [1, 0]], [0, 4, 1, 9], faces=[1, 1, 8, 5], large=[0, 0, 3, 7]
    )
    place = np.array([0, 0, 1, -1])  # two, one, and a track of nobody
    groups = Groups.of(points, known, place)
    shared = np.array([[0, 2], [2, 0]])
    told = between(groups, groups, shared)
    # the smaller has 8 faces of size 3, and begins next to one track of the larger
    by_hand = [
        np.sqrt(0.5), 0.0, 0.0, np.log(2), np.log(3), np.log(8), 3.0, np.log(2),
    ]  # fmt: skip
    assert told[0, 1] == pytest.approx(by_hand)
    assert told[1, 0] == pytest.approx(by_hand)


def test_between_two_sets_is_a_part_of_between_all():
    rng = np.random.default_rng(0)
    points = rng.normal(size=(12, 5))
    known = facts(rng.normal(size=(12, 5)), rng.integers(0, 6, 12), faces=rng.integers(1, 9, 12))
    place = np.array([0, 0, 0, 1, 1, 2, 2, 2, 2, 3, 4, 4])
    all_of_them = Groups.of(points, known, place)
    first = Groups.of(points, known, np.where(place < 2, place, -1))
    rest = Groups.of(points, known, place - 2)
    shared = rng.integers(0, 3, (5, 5))
    whole = between(all_of_them, all_of_them, shared + shared.T)
    part = between(first, rest, (shared + shared.T)[:2, 2:])
    np.testing.assert_allclose(part, whole[:2, 2:])


def test_inside_by_hand():
    points = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    looks = np.array([[0.0, 1.0], [0.0, 1.0], [1.0, 0.0]])
    rows, parts = np.arange(3), np.array([[False, False, True]])
    others = [np.array([[0.6, 0.8]]), np.array([[1.0, 0.0], [0.0, 1.0]])]
    told = inside(points, facts(looks, [5, 6, 7]), rows, parts, others)
    # near the stray track, in the stretch before it, begins one of the rest
    assert told[0] == pytest.approx([0.0, 0.8, 0.0, 1.0, 0.0, np.log(2), np.log(2)])


def test_shared_frames_count_pairs_both_ways_but_not_the_waived():
    place = np.array([0, 0, 1, 2, -1])
    pairs = np.array([[0, 2], [1, 2], [2, 3], [3, 4]])
    assert shared_frames(place, place, pairs, set()).tolist() == [[0, 2, 0], [2, 0, 1], [0, 1, 0]]
    assert shared_frames(place, place, pairs, {(0, 2)})[0].tolist() == [0, 1, 0]
    part = np.array([-1, 0, -1, -1, -1])
    assert shared_frames(part, place, pairs, set()).tolist() == [[0, 1, 0]]


def test_similar_groups_are_more_likely_one_person():
    rng = np.random.default_rng(1)
    looks = rng.normal(size=(3, 8))
    looks[1] = looks[0] + 0.1 * rng.normal(size=8)
    looks /= np.linalg.norm(looks, axis=1, keepdims=True)
    groups = Groups.of(looks, facts(looks), np.arange(3))
    likely = likely_between(between(groups, groups, np.zeros((3, 3), np.int64)))
    assert likely[0, 1] > 10 * likely[0, 2]
    parts = np.array([[True, False, False], [False, False, True]])
    within = likely_inside(inside(looks, facts(looks), np.arange(3), parts, [looks[:0]] * 2))
    assert within[0] > within[1]


def test_facts_of_tracks():
    tracks = made_video(people=2, each=20, pairs=False)
    known = Facts.of(tracks)
    np.testing.assert_allclose(np.linalg.norm(known.mean_features, axis=1), 1, rtol=1e-5)
    assert known.faces.tolist() == tracks.face_counts.tolist()
    assert np.abs(known.large).max() == 0  # all boxes are 90 wide
    begins = tracks.time[tracks.offsets[:-1]]
    assert known.stretch.tolist() == np.floor(begins / 30).tolist()
    assert len(Facts.of(tracks[:0]).mean_features) == 0


def test_two_videos_are_never_near():
    """The last stretch of one is not beside the first of the next."""
    one = made_video(people=1, each=20, pairs=False)
    other = dataclasses.replace(made_video(people=1, prefix="x"), videos=("other.mp4",))
    stretch = Facts.of(TrackSet.join([one, other])).stretch
    assert stretch[len(one) :].min() > stretch[: len(one)].max() + 1


def test_stretches_that_are_neighbours_stay_so_however_long_it_is():
    rng = np.random.default_rng(0)
    video = np.sort(rng.integers(0, 4, 200))
    begins = np.where(rng.random(200) < 0.9, rng.uniform(0, 3000, 200), 2.0**39)
    one = TrackSet.from_faces(np.arange(200).astype(str), feature=np.ones((200, 2)), time=begins)
    known = Facts.of(dataclasses.replace(one, video=video, videos=tuple("abcd")))
    far = np.abs(np.subtract.outer(np.floor(begins / 30), np.floor(begins / 30)))
    same = video[:, None] == video
    apart = np.abs(np.subtract.outer(known.stretch, known.stretch))
    assert ((apart == 0) == (same & (far == 0))).all()
    assert ((apart == 1) == (same & (far == 1))).all()
    assert known.stretch.min() == 0
    assert known.stretch.max() < 400


def times_the_odds(likely, n, column, step):
    """Return how much likelier one person becomes if one piece of evidence grows by a step."""
    before, after = np.zeros(n), np.eye(n)[column] * step
    odds = [p / (1 - p) for p in (likely(before), likely(after))]
    return odds[1] / odds[0]


@pytest.mark.parametrize(
    ("column", "step", "times"),
    [
        (0, 0.1, 1.9),  # cosine of embeddings
        (1, 0.1, 1.27),  # cosine of features: it says less
        (2, np.log(2), 0.49),  # twice as many tracks of the smaller: chance errs less often
        (3, np.log(2), 0.89),  # … of the larger
        (4, np.log(2), 0.15),  # two tracks share a frame
        (5, np.log(2), 1.4),  # twice as many faces
        (6, np.log(2), 1.03),  # faces twice as wide
        (7, np.log(2), 2.2),  # a track of the one begins near to one of the other
    ],
)
def test_what_each_piece_of_evidence_says_of_two_characters(column, step, times):
    """As fitted on clips whose people are known (benchmarks/bench_review.py --fit)."""
    assert times_the_odds(likely_between, 8, column, step) == pytest.approx(times, rel=0.03)


@pytest.mark.parametrize(
    ("column", "step", "times"),
    [
        (0, 0.1, 1.43),  # cosine of the embeddings of part and rest
        (1, 0.1, 1.006),  # … of the part and the nearest other character: means nothing
        (2, 0.1, 2.46),  # the same for features, which clustering has not seen
        (3, 0.1, 0.43),
        (4, np.log(2), 1.34),  # twice as many tracks of the part
        (5, np.log(2), 1.44),  # … of the rest
        (6, np.log(2), 1.52),  # one track of the rest begins near to each of the part
    ],
)
def test_what_each_piece_of_evidence_says_of_a_part(column, step, times):
    tolerance = 0.004 if times == 1.006 else 0.03
    assert times_the_odds(likely_inside, 7, column, step) == pytest.approx(times, rel=tolerance)


def test_without_evidence_two_are_rarely_one_person():
    """One pair of characters in 700 is, and one part in 39."""
    assert 1 / likely_between(np.zeros(8)) == pytest.approx(700, rel=0.05)
    assert 1 / likely_inside(np.zeros(7)) == pytest.approx(39, rel=0.05)
