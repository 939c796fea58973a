from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from castlist import InputError, TrackSet, cluster_tracks, complete_linkage, nmi, wcp
from castlist.research import TrainSettings, choose_threshold, train
from castlist.research.training.validation import Truth

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
    clustered = Truth.of(tracks, apart=True).cluster(POINTS)
    assert clustered.heights.tolist() == [1, 4, 25, 81]
    scores = clustered.scores(2.0)  # {0, 1}, {2} and three alone
    assert scores["n_clusters"] == 5
    truth = [["j", "j", "d"], ["j", "w", "w"]]
    labels = [complete_linkage(POINTS[part], 2.0).labels for part in (slice(3), slice(3, 6))]
    pairs = list(zip(truth, labels, strict=True))
    assert scores["nmi"] == pytest.approx(np.mean([nmi(*pair) for pair in pairs]))
    assert scores["wcp"] == pytest.approx(np.mean([wcp(*pair) for pair in pairs]))


def test_the_threshold_of_the_true_number_lies_between_two_merges(tracks):
    clustered = Truth.of(tracks, apart=True).cluster(POINTS)
    assert clustered.threshold_of_count() == (4 + 25) / 2
    assert clustered.scores(clustered.threshold_of_count())["n_clusters"] == 4


def test_everybody_alone_has_a_threshold_below_the_first_merge(tracks):
    alone = tracks.with_identity(list("abcdef"))
    clustered = Truth.of(alone, apart=True).cluster(POINTS)
    assert clustered.threshold_of_count() == 0.5
    assert clustered.scores(0.5)["n_clusters"] == 6


def people(spread: float, n: int = 12, each: int = 8, seed: int = 0) -> TrackSet:
    rng = np.random.default_rng(seed)
    who = np.repeat(np.arange(n), each)
    feature = rng.normal(size=(n, 16))[who] + spread * rng.normal(size=(n * each, 16))
    return TrackSet.from_faces(np.arange(n * each), feature=feature, identity=who.astype(str))


@pytest.mark.parametrize("spread", [0.1, 0.5, 0.8])
def test_no_other_threshold_does_better(spread):
    tracks = people(spread)
    tau = choose_threshold(None, tracks)
    best = nmi(tracks.identity, cluster_tracks(tracks, threshold=tau).labels)
    for other in np.linspace(0.01, 80, 80):
        found = cluster_tracks(tracks, threshold=float(other))
        assert nmi(tracks.identity, found.labels) <= best + 1e-12


def test_by_count_gives_the_true_number():
    tracks = people(0.7)
    tau = choose_threshold(None, tracks, by="count")
    assert cluster_tracks(tracks, threshold=tau).n_clusters == 12


def several(spread: float) -> list[TrackSet]:
    """Three videos of other casts, the last of one person only."""
    return [
        replace(people(spread, n, each, seed), videos=(f"video {seed}",))
        for seed, (n, each) in enumerate([(12, 8), (5, 20), (1, 6)])
    ]


@pytest.mark.parametrize("spread", [0.5, 0.8])
def test_videos_apart_by_count_give_the_total_number(spread):
    videos = several(spread)
    tau = choose_threshold(None, TrackSet.join(videos), by="count", apart=True)
    assert sum(cluster_tracks(one, threshold=tau).n_clusters for one in videos) == 18


@pytest.mark.parametrize("spread", [0.5, 0.8])
def test_videos_apart_by_nmi_give_the_best_mean(spread):
    videos = several(spread)

    def mean(tau):
        found = [cluster_tracks(one, threshold=tau).labels for one in videos]
        return np.mean(
            [nmi(one.identity, labels) for one, labels in zip(videos, found, strict=True)]
        )

    best = mean(choose_threshold(None, TrackSet.join(videos), apart=True))
    assert all(mean(float(other)) <= best + 1e-12 for other in np.linspace(0.01, 80, 20))


def test_one_video_apart_is_one_video():
    tracks = people(0.7)
    for by in ("nmi", "count"):
        assert choose_threshold(None, tracks, by, apart=True) == choose_threshold(None, tracks, by)


def test_one_person_a_video_is_too_few():
    alone = [replace(people(0.1, n=1, seed=k), videos=(str(k),)) for k in range(3)]
    with pytest.raises(InputError, match="two people in one video"):
        choose_threshold(None, TrackSet.join(alone), by="count", apart=True)


def test_one_person_is_too_few():
    with pytest.raises(InputError, match="two people"):
        choose_threshold(None, people(0.1, n=1))
    with pytest.raises(InputError, match="by must be 'nmi' or 'count'"):
        choose_threshold(None, people(0.1), by="luck")


def test_a_residual_model_starts_as_the_identity_and_learns(tmp_path):
    tracks, held = people(0.6, n=40), people(0.6, n=12, seed=7)
    held = held.with_identity([f"v{name}" for name in held.identity])
    settings = TrainSettings(
        hidden=(32,), residual=True, b_hat=-1.0, epochs=3, batch=100, operating=True
    )
    result = train(tracks, settings, validation=held, run=tmp_path)
    model = result.model
    assert model.dims == (16, 32, 16)
    assert model.threshold == model.operating != 4 * model.b
    assert model.validation["operating_nmi"] >= model.validation["nmi"]
    from castlist import BallModel, load_model

    again = load_model(tmp_path / "model.safetensors")
    assert (again.residual, again.operating) == (True, model.operating)
    x = held.mean_features()
    np.testing.assert_array_equal(again.embed(x), model.embed(x))
    fresh = BallModel((16, 32, 16), residual=True)
    np.testing.assert_allclose(
        fresh.embed(x), x / np.linalg.norm(x, axis=1, keepdims=True), atol=1e-6
    )
    with pytest.raises(InputError, match="as long as features"):
        BallModel((16, 32, 8), residual=True)
