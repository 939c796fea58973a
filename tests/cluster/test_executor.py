"""Complete linkage on a Ray cluster of two nodes gives the merges of one process."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from castlist import InputError, complete_linkage, ray_linkage
from castlist.cluster.executor import RayExecutor
from tests.cluster.test_linkage import balls
from tests.rays import kill_a_worker, nodes


@pytest.fixture(scope="module")
def two_nodes():
    with nodes(1, 1) as made:
        yield made


def same(points, threshold, **links):
    here = complete_linkage(points, threshold, **links)
    there = ray_linkage(points, threshold, **links)
    np.testing.assert_array_equal(there.labels, here.labels)
    np.testing.assert_array_equal(there.merges, here.merges)
    assert there.threshold == here.threshold
    return here


def test_both_nodes_are_there(two_nodes):
    import ray

    assert len([node for node in ray.nodes() if node["Alive"]]) == 2


@pytest.mark.parametrize("n", [0, 2, 700])
def test_few_points_give_the_same_merges(two_nodes, n):
    same(balls(700, 16, 0.1, seed=1)[:n], 0.4)


@pytest.mark.slow
def test_pivots_and_links_give_the_same_merges(two_nodes):
    points = balls(20_000, 16, 0.05, seed=2).astype(np.float32)
    rng = np.random.default_rng(0)
    must, cannot = rng.integers(0, 9_000, (40, 2)), rng.integers(10_000, len(points), (3_000, 2))
    cannot = cannot[cannot[:, 0] != cannot[:, 1]]
    free = same(points, 0.2)
    linked = same(points, 0.2, must_link=must, cannot_link=cannot)
    assert not np.array_equal(free.labels, linked.labels)


@pytest.mark.slow
@pytest.mark.parametrize("block", [6, 10**6])
def test_little_memory_gives_the_same_merges(two_nodes, monkeypatch, block):
    """Every way through: graphs in parts, blocks, and components too large for either."""
    points = balls(1_500, 4, 0.1, seed=3)
    monkeypatch.setattr("castlist.cluster.merging.FEW_EDGES", 16)
    same(points, 0.1, cannot_link=[(0, 1), (2, 3)])
    monkeypatch.setattr("castlist.cluster.stages.EDGES_PER_POINT", 0)
    monkeypatch.setattr("castlist.cluster.stages.MIN_EDGES", 2_000)
    monkeypatch.setattr("castlist.cluster.stages.BLOCK_SIDE", block)
    same(points, 0.2, must_link=[(5, 9)], cannot_link=[(0, 1), (2, 3)])


def test_points_are_put_once(two_nodes, monkeypatch):
    import ray

    points, put = balls(3_000, 8, 0.1, seed=4), []
    executor = RayExecutor(ray)
    monkeypatch.setattr(executor, "put", lambda value: put.append(value) or ray.put(value))
    complete_linkage(points, 0.4, executor=executor)
    assert sum(value is points for value in put) == 1


@pytest.mark.slow
def test_a_killed_worker_changes_nothing(two_nodes):
    points = balls(20_000, 16, 0.05, seed=5).astype(np.float32)
    with ThreadPoolExecutor() as pool:
        killed = pool.submit(kill_a_worker, two_nodes, "_run_batch")
        there = ray_linkage(points, 0.2)
        assert killed.result() > 0
    np.testing.assert_array_equal(there.labels, complete_linkage(points, 0.2).labels)


def test_bad_arguments_are_refused(two_nodes):
    with pytest.raises(InputError, match="row 1 has a value that is not finite"):
        ray_linkage([[0.0], [np.nan]], 1.0)
    with pytest.raises(InputError, match="must-links put them into one cluster"):
        ray_linkage([[0.0], [1.0]], 1.0, must_link=[(0, 1)], cannot_link=[(0, 1)])


def test_without_ray_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(InputError, match=r"pip install 'castlist\[ray\]'"):
        ray_linkage([[0.0], [1.0]], 1.0)
