from __future__ import annotations

import numpy as np
import pytest

from castlist import TrackSet, complete_linkage, nmi, wcp
from castlist.learn.validation import Truth

POINTS = np.array([[0.0], [1.0], [5.0], [0.0], [2.0], [9.0]], np.float32)


@pytest.fixture
def tracks():
    """Two videos of three tracks; joyce is in both."""
    names = ["joyce", "joyce", "dawn", "joyce", "willow", "willow"]
    sets = [
        TrackSet.from_faces([1, 2, 3], feature=POINTS[part], identity=names[part], video=video)
        for part, video in ((slice(3), "one"), (slice(3, 6), "two"))
    ]
    return TrackSet.join(sets)


def test_characters_are_counted_whole_or_apart(tracks):
    assert Truth.of(tracks).n_characters == 3
    apart = Truth.of(tracks, apart=True)
    assert (len(apart.rows), apart.n_characters) == (2, 4)


def test_scores_are_sums_and_means_over_videos(tracks):
    linked = Truth.of(tracks, apart=True).link(POINTS)
    assert linked.heights.tolist() == [1, 4, 25, 81]
    scores = linked.scores(2.0)  # {0, 1}, {2} and three alone
    assert scores["n_clusters"] == 5
    truth = [["j", "j", "d"], ["j", "w", "w"]]
    labels = [complete_linkage(POINTS[part], 2.0).labels for part in (slice(3), slice(3, 6))]
    pairs = list(zip(truth, labels, strict=True))
    assert scores["nmi"] == pytest.approx(np.mean([nmi(*pair) for pair in pairs]))
    assert scores["wcp"] == pytest.approx(np.mean([wcp(*pair) for pair in pairs]))


def test_the_threshold_of_the_true_number_lies_between_two_merges(tracks):
    linked = Truth.of(tracks, apart=True).link(POINTS)
    assert linked.threshold_of_count() == (4 + 25) / 2
    assert linked.scores(linked.threshold_of_count())["n_clusters"] == 4


def test_everybody_alone_has_a_threshold_below_the_first_merge(tracks):
    alone = tracks.with_identity(list("abcdef"))
    linked = Truth.of(alone, apart=True).link(POINTS)
    assert linked.threshold_of_count() == 0.5
    assert linked.scores(0.5)["n_clusters"] == 6
