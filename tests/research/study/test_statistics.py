from __future__ import annotations

import numpy as np
import pytest

from castlist import InputError, TrackSet, read_tracks
from castlist.research import statistics
from castlist.research.study.statistics import Statistics, statistics_table, tracks_per_identity

# Rows 1 to 6 of the paper's test table: 12 episodes, then BBT, BUFFY and both combined.
PAPER = """
8 6 26 28 25 37 13 22 15 32 38 45 103 109 212
6 5 7 8 6 6 11 12 13 14 13 17 11 26 37
2 1 19 20 19 31 2 10 2 18 25 28 92 83 175
656 615 660 613 524 840 795 993 1194 898 840 1112 3908 5832 9740
647 613 562 568 463 651 786 866 1185 852 733 1055 3504 5477 8981
9 2 98 45 61 189 9 127 9 46 107 57 404 355 759
"""


def test_the_papers_table(authors):
    columns = statistics_table(read_tracks(authors))
    rows = np.array([column.values() for column in columns]).T
    expected = np.array([line.split() for line in PAPER.split("\n") if line], int)
    np.testing.assert_array_equal(rows, expected)
    assert [column.name for column in columns][-3:] == ["bbt (6)", "buffy (6)", "all (12)"]


def test_counting(tracks):
    counted = statistics(tracks, "film")
    assert counted == Statistics("film", 2, 1, 1, 2, 1, 1)  # track c has no label
    counts, background = tracks_per_identity(tracks)
    assert counts.tolist() == [1, 1]
    assert sorted(background.tolist()) == [False, True]


def test_one_video_is_one_column_and_two_are_three(tracks):
    assert [c.name for c in statistics_table(tracks)] == ["film"]
    other = TrackSet.from_faces(["b"], feature=np.ones((1, 5)), identity=["joyce"], video="other")
    columns = statistics_table(TrackSet.join([tracks, other]))
    assert [c.name for c in columns] == ["film", "other", "all (2)"]
    assert columns[-1].n_named == 1  # the same name is the same person


def test_labels_are_needed(tracks):
    with pytest.raises(InputError, match="no track has an identity"):
        statistics(tracks[2:])
