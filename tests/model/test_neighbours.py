from __future__ import annotations

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

import castlist.parallel
from castlist import BallModel, InputError, TrackSet, embed_tracks, load_model, save_model
from castlist.model import neighbours
from castlist.model.neighbours import average_neighbours, cosines_of_strangers, reach_of


def points(n, dim=6, seed=0, spread=1.0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, dim)) + spread
    return x / np.linalg.norm(x, axis=1, keepdims=True)


def by_hand(z, reach, rounds, nearest=0, share=0, together=(), apart=()):
    for _ in range(rounds):
        new = np.zeros_like(z)
        most = max(2, round(nearest * np.sqrt(len(z)))) if nearest else len(z)
        alike = z @ z.T
        for i, j in together:
            alike[i, j] += 1
            alike[j, i] += 1
        near = [set(np.argsort(-row)[:most].tolist()) for row in alike]
        best = [min(np.sort(row)[-2], 1) for row in alike]
        for i in range(len(z)):
            for j in range(len(z)):
                if (i, j) in apart or (j, i) in apart:
                    continue
                weak = alike[i, j] < share * min(best[i], best[j])
                if (j in near[i] or i in near[j]) and not weak:
                    new[i] += max(float(alike[i, j]) - reach, 0) * z[j]
            new[i] /= np.linalg.norm(new[i])
        z = new
    return z


@pytest.mark.parametrize("rounds", [0, 1, 3])
@pytest.mark.parametrize("reach", [0.0, 0.3, 0.9])
@pytest.mark.parametrize("nearest", [0, 0.1, 0.9, 99])
@pytest.mark.parametrize("share", [0, 0.6, 0.9])
def test_it_is_the_formula(rounds, reach, nearest, share):
    z = points(12)
    found = average_neighbours(z, reach, rounds, nearest, share)
    np.testing.assert_allclose(found, by_hand(z, reach, rounds, nearest, share), atol=1e-12)


@pytest.mark.parametrize(("nearest", "share"), [(0, 0), (0.9, 0), (0.9, 0.8)])
@pytest.mark.parametrize("rows", [5, 512])
def test_other_evidence_is_in_the_formula(monkeypatch, nearest, share, rows):
    monkeypatch.setattr(neighbours, "_ROWS", rows)
    z, together, apart = points(12), [(0, 7), (3, 4)], [(1, 2), (0, 3), (5, 11)]
    found = average_neighbours(z, 0.3, 2, nearest, share, np.array(together[::-1]), np.array(apart))
    wanted = by_hand(z, 0.3, 2, nearest, share, together, apart)
    np.testing.assert_allclose(found, wanted, atol=1e-12)


def test_a_model_takes_evidence_of_pairs_within_a_video():
    model = BallModel((6, 6), residual=True, rounds=1, reach=0.3)
    x = points(8).astype(np.float32)
    video = np.array([0, 1, 0, 1, 0, 1, 0, 1])
    pairs = np.array([[2, 6], [0, 1], [3, 5]])  # the second of two videos
    found = model.embed(x, video, together=pairs, apart=[[0, 4]])
    for one, together, apart in ((0, [(1, 3)], [(0, 2)]), (1, [(1, 2)], [])):
        wanted = by_hand(x[video == one].astype(float), 0.3, 1, 0, 0, together, apart)
        np.testing.assert_allclose(found[video == one], wanted, atol=1e-6)


def test_whoever_has_no_neighbour_stays_and_order_means_nothing():
    far = np.eye(4)
    np.testing.assert_allclose(average_neighbours(far, 0.2, 2), far)
    z = points(30)
    order = np.random.default_rng(1).permutation(30)
    np.testing.assert_allclose(
        average_neighbours(z[order], 0.3, 2), average_neighbours(z, 0.3, 2)[order]
    )


def test_blocks_change_nothing(monkeypatch):
    z = points(50)
    whole = [average_neighbours(z, 0.3, 2, nearest) for nearest in (0, 0.7)]
    monkeypatch.setattr(neighbours, "_ROWS", 7)
    for nearest, found in zip((0, 0.7), whole, strict=True):
        np.testing.assert_allclose(average_neighbours(z, 0.3, 2, nearest), found)


def test_no_points_and_no_pairs():
    none = np.empty((0, 2), np.int64)
    assert average_neighbours(np.empty((0, 4)), 0.3, 2, 1.4, 0.5, none, none).shape == (0, 4)


@pytest.mark.parametrize("threads", [1, 2, 4])
def test_threads_change_not_a_bit(monkeypatch, threads):
    z = points(1500, dim=32, spread=0.2).astype(np.float32)
    pairs = np.random.default_rng(0).integers(0, len(z), (40, 2))
    monkeypatch.setattr(castlist.parallel, "n_threads", lambda: 1)
    alone = average_neighbours(z, 0.3, 2, 1.4, 0.5, pairs[:20], pairs[20:])
    monkeypatch.setattr(castlist.parallel, "n_threads", lambda: threads)
    with threadpool_limits(threads, user_api="blas"):
        found = average_neighbours(z, 0.3, 2, 1.4, 0.5, pairs[:20], pairs[20:])
    np.testing.assert_array_equal(found, alone)


def test_quantiles_of_strangers_are_those_of_all_pairs_of_different_people():
    z, who = points(60, spread=0.5), np.arange(60) // 3
    cosines = sorted(z[i] @ z[j] for i in range(60) for j in range(i) if who[i] != who[j])
    found = cosines_of_strangers(z, who)
    for k, cosine in enumerate(found[:8], start=1):
        above = sum(one > cosine for one in cosines)
        assert above / len(cosines) == pytest.approx(0.5**k, abs=1 / len(cosines))
    assert len(found) == neighbours.N_QUANTILES


@pytest.mark.parametrize("rows", [7, 512])
@pytest.mark.parametrize("rate", [0.02, 0.1, 0.5])
def test_a_reach_admits_few_false_pairs(monkeypatch, rows, rate):
    monkeypatch.setattr(neighbours, "_ROWS", rows)
    strangers = cosines_of_strangers(points(400, dim=16, spread=0), np.arange(400))
    who = np.eye(16)[np.arange(60) % 5]
    z = who + 0.25 * np.random.default_rng(1).normal(size=(60, 16))
    z /= np.linalg.norm(z, axis=1, keepdims=True)
    pairs = (z @ z.T)[np.triu_indices(60, 1)]

    def good(reach):
        share = 2 ** np.interp(reach, strangers, -np.arange(1.0, 17))
        return share * len(pairs) <= max(rate * np.sum(pairs >= reach), 1)

    found = reach_of(z, 0.1, rate, strangers)
    assert good(found + 1e-9) or found == pytest.approx(0.4)
    assert not any(good(lower) for lower in np.arange(0.1, found - 1e-3, 0.005))
    assert reach_of(z, found + 0.1, rate, strangers) == pytest.approx(found + 0.1)


def test_many_people_need_a_higher_reach_than_few():
    strangers = cosines_of_strangers(points(500, dim=64, spread=0), np.arange(500))
    rng = np.random.default_rng(2)
    reaches = []
    for people in (3, 30, 300):
        own = rng.normal(size=(people, 64)).repeat(3, axis=0)
        z = own + 0.6 * rng.normal(size=own.shape)
        z /= np.linalg.norm(z, axis=1, keepdims=True)
        reaches.append(reach_of(z, 0.2, 0.1, strangers))
    assert reaches[0] < reaches[1] < reaches[2]


@pytest.mark.parametrize("n", [0, 1, 2])
def test_the_reach_of_few_points(n):
    strangers = cosines_of_strangers(points(100), np.arange(100))
    assert reach_of(points(n), 0.3, 0, strangers) == 0.3
    assert 0.3 <= reach_of(points(n), 0.3, 0.1, strangers) <= 1


def test_a_bad_track_joins_its_company_and_a_lone_one_does_not():
    rng = np.random.default_rng(0)
    who = np.eye(16)[:2]
    good = who[0] + 0.15 * rng.normal(size=(40, 16))
    bad = 0.6 * who[0] + 0.25 * rng.normal(size=(1, 16))
    alone = who[1][None]
    z = np.concatenate([good, bad, alone])
    z /= np.linalg.norm(z, axis=1, keepdims=True)
    after = average_neighbours(z, 0.3, 2)
    assert (z[:40] @ z[40]).min() < 0.6
    assert (after[:40] @ after[40]).min() > 0.95
    assert after[41] @ z[41] > 0.99


def test_the_videos_of_a_set_are_averaged_apart(tmp_path):
    model = BallModel((6, 6), residual=True, rounds=2, reach=0.25, nearest=9)
    a, b = points(20, seed=1).astype(np.float32), points(15, seed=2).astype(np.float32)
    sets = [
        TrackSet.from_faces(np.arange(len(x)), feature=x, video=name)
        for name, x in (("a", a), ("b", b))
    ]
    joined = embed_tracks(TrackSet.join(sets), model)
    apart = np.concatenate([embed_tracks(one, model) for one in sets])
    np.testing.assert_allclose(joined, apart, atol=1e-6)
    together = model.embed(np.concatenate([a, b]))
    assert np.abs(together - apart).max() > 0.01
    save_model(model, tmp_path / "m.safetensors")
    again = load_model(tmp_path / "m.safetensors")
    assert (again.rounds, again.reach, again.nearest) == (2, 0.25, 9)
    np.testing.assert_array_equal(again.embed(a), model.embed(a))


def test_only_on_the_sphere():
    with pytest.raises(InputError, match="unit sphere"):
        BallModel((6, 6), normalise=False, rounds=1)


def test_a_few_points_need_no_higher_reach_for_one_false_pair():
    """Every fourth pair of strangers is that alike: of 3 pairs that is 0.75, of 6 it is 1.5."""
    strangers = np.linspace(0.25, 0.4, neighbours.N_QUANTILES).astype(np.float32)
    # A half of them are above 0, a quarter above 0.2, an eighth above 0.26, a sixth above 0.235.
    strangers[:3] = 0.0, 0.2, 0.26
    for people, wanted in ((3, 0.2), (4, 0.24)):
        assert reach_of(np.eye(8)[:people], 0.2, 0.1, strangers) == pytest.approx(wanted)
