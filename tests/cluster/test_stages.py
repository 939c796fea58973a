"""Stages and pivots change what is held and compared, never the result."""

from __future__ import annotations

import numpy as np
import pytest

from castlist import CastlistError, complete_linkage
from castlist.cluster import pair_search
from tests.cluster.reference import greedy_complete_linkage
from tests.cluster.test_linkage import balls, scipy_labels


@pytest.fixture(params=[0, 6, 10**6])
def tight(request, monkeypatch):
    """Allow so few edges that nearly every merge is its own stage; no, small or large blocks."""
    monkeypatch.setattr("castlist.cluster.stages.EDGES_PER_POINT", 0)
    monkeypatch.setattr("castlist.cluster.stages.MIN_EDGES", 40)
    monkeypatch.setattr("castlist.cluster.stages.BLOCK_SIDE", request.param)


@pytest.mark.parametrize("threshold", [0.5, 2.0, 8.0, 1e6])
@pytest.mark.parametrize("dim", [1, 4])
def test_little_memory_gives_the_same_merges(tight, threshold, dim, monkeypatch):
    points = np.random.default_rng(dim).normal(size=(120, dim))
    staged = complete_linkage(points, threshold)
    monkeypatch.undo()
    whole = complete_linkage(points, threshold)
    np.testing.assert_array_equal(staged.labels, scipy_labels(points, threshold))
    np.testing.assert_allclose(staged.merges, whole.merges)


@pytest.mark.parametrize("seed", range(8))
def test_links_hold_over_stages(tight, seed):
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(40, 2))
    must, cannot = rng.integers(0, 10, (3, 2)), rng.integers(10, 40, (15, 2))
    cannot = cannot[cannot[:, 0] != cannot[:, 1]]
    for threshold in (0.3, 3.0, 100.0):
        found = complete_linkage(points, threshold, must_link=must, cannot_link=cannot).labels
        np.testing.assert_array_equal(
            found, greedy_complete_linkage(points, threshold, must, cannot)
        )


def test_a_crowd_of_duplicates_needs_no_pairs(tight):
    points = np.repeat(np.random.default_rng(0).normal(size=(8, 3)), 500, axis=0)
    points[::2] += 0.0
    points[0] = -0.0
    points[1] = 0.0
    result = complete_linkage(points, 1e-9)
    assert result.n_clusters == 9
    assert result.labels[0] == result.labels[1]
    assert (result.merges[:, 2] == 0).all()
    linked = complete_linkage(np.zeros((6, 2)), 1.0, cannot_link=[(0, 5)], must_link=[(1, 2)])
    assert linked.labels[0] != linked.labels[5]
    assert linked.n_clusters == 2


@pytest.mark.parametrize("tight", [0], indirect=True)
def test_too_many_equal_distances_are_an_error(tight):
    # 60 corners of a simplex: every pair is exactly as far apart as every other.
    with pytest.raises(CastlistError, match="have the same distance 2, too many for memory"):
        complete_linkage(np.eye(60), 2.0)


def test_pivots_and_all_pairs_give_one_partition(monkeypatch):
    points = balls(18_000, 32, 0.1, seed=3).astype(np.float32)
    by_pivots = complete_linkage(points, 0.4)
    monkeypatch.setattr(pair_search, "FEW_POINTS", 10**9)
    by_all = complete_linkage(points, 0.4)
    np.testing.assert_array_equal(by_pivots.merges, by_all.merges)


def test_points_closer_than_float32_can_resolve(monkeypatch):
    monkeypatch.setattr("castlist.cluster.stages.BLOCK_SIDE", 100)
    monkeypatch.setattr("castlist.cluster.stages.EDGES_PER_POINT", 0)
    monkeypatch.setattr("castlist.cluster.stages.MIN_EDGES", 20_000)
    rng = np.random.default_rng(0)
    centre = np.array([1.0, 0.3, 0.2, 0.1])
    crowd = centre + 1e-6 * rng.normal(size=(400, 4))
    points = np.vstack([crowd, -centre + 0.1 * rng.normal(size=(150, 4))])
    for threshold in (1e-12, 0.5):
        np.testing.assert_array_equal(
            complete_linkage(points, threshold).labels, scipy_labels(points, threshold)
        )
