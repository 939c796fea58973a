from __future__ import annotations

import numpy as np
import pytest

from castlist import InputError, TrackSet, cluster_tracks


@pytest.fixture
def crowd():
    """Tracks 0 and 1 look alike and share a frame; track 2 looks like them too."""
    return TrackSet.from_faces(
        [0, 0, 1, 1, 2], feature=np.array([[0.0], [0.2], [0.1], [0.1], [0.3]]),
        frame=[1, 2, 2, 3, 9],
    )  # fmt: skip


def test_tracks_are_clustered_by_their_means(crowd):
    assert cluster_tracks(crowd, threshold=1.0).labels.tolist() == [0, 0, 0]
    assert cluster_tracks(crowd, threshold=0.01).labels.tolist() == [0, 0, 1]


def test_tracks_that_share_a_frame_can_be_kept_apart(crowd):
    labels = cluster_tracks(crowd, threshold=1.0, overlaps=True).labels
    assert labels[0] != labels[1]
    assert len(set(labels.tolist())) == 2


@pytest.mark.parametrize("asked", ["n_clusters", "at_most"])
def test_a_number_wins_over_shared_frames(crowd, asked):
    tau = None if asked == "n_clusters" else 1.0
    for order in ([0, 1, 2], [2, 1, 0]):
        tracks = crowd[np.array(order)]
        made = cluster_tracks(tracks, threshold=tau, overlaps=True, **{asked: 1})
        assert made.labels.tolist() == [0, 0, 0]
        np.testing.assert_array_equal(made.given_up, tracks.overlaps())
    made = cluster_tracks(crowd, threshold=tau, overlaps=True, **{asked: 2})
    assert len(set(made.labels.tolist())) == 2
    assert len(made.given_up) == 0


def test_something_must_say_when_to_stop(crowd):
    with pytest.raises(InputError, match="a model, a threshold or a number of characters"):
        cluster_tracks(crowd)


@pytest.mark.parametrize(
    ("asked", "option"), [("n_clusters", "--characters"), ("at_least", "--min-characters")]
)
def test_more_characters_than_tracks_cannot_be(crowd, asked, option):
    tau = None if asked == "n_clusters" else 1.0
    assert cluster_tracks(crowd, threshold=tau, **{asked: 3}).n_clusters == 3
    with pytest.raises(InputError, match=f"3 tracks, so 3 characters at most; .* {option}$"):
        cluster_tracks(crowd, threshold=tau, **{asked: 4})


def test_a_model_of_another_describer_is_refused(crowd):
    from dataclasses import replace

    from castlist import BallModel

    model = BallModel((1, 2), describer="SFace")
    assert len(cluster_tracks(crowd, model).labels) == 3  # the tracks do not say
    with pytest.raises(InputError, match="features of SFace, and the tracks have .* of other"):
        cluster_tracks(replace(crowd, describer="other"), model)
