from __future__ import annotations

import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.cluster.hierarchy import fcluster, is_valid_linkage, linkage

import castlist.cluster.linkage as linkage_module
from castlist import CastlistError, InputError, complete_linkage
from castlist.cluster.links import by_first_appearance, resolve_links
from tests.cluster.reference import greedy_complete_linkage, greedy_to_number


def scipy_labels(points, threshold):
    merges = linkage(np.asarray(points, np.float64), "complete", "sqeuclidean")
    return by_first_appearance(fcluster(merges, threshold, "distance"))


def balls(n, dim, b, seed, outside=0.03):
    """Points on a sphere in balls of squared radius b, with a few percent outside theirs."""
    rng = np.random.default_rng(seed)
    sizes = (n / np.arange(1, n) ** 1.2 / 4).astype(int) + 1
    label = np.repeat(np.arange(len(sizes)), sizes)[:n]
    centres = rng.normal(size=(label.max() + 1, dim))
    centres /= np.linalg.norm(centres, axis=1, keepdims=True)
    step = rng.normal(size=(len(label), dim))
    step /= np.linalg.norm(step, axis=1, keepdims=True)
    radius = np.sqrt(b) * np.where(rng.random(len(label)) < outside, 1.5, rng.random(len(label)))
    points = centres[label] + step * radius[:, None]
    return points / np.linalg.norm(points, axis=1, keepdims=True)


@pytest.mark.parametrize("n", [2, 3, 10, 100, 700])
@pytest.mark.parametrize("dim", [1, 2, 16])
@pytest.mark.parametrize("seed", [0, 1])
def test_same_partition_as_scipy_on_random_points(n, dim, seed):
    points = np.random.default_rng(seed).normal(size=(n, dim))
    for threshold in (0.0, 1e-3, 0.1, 0.5 * dim, 2 * dim, 1e6):
        labels = complete_linkage(points, threshold).labels
        np.testing.assert_array_equal(labels, scipy_labels(points, threshold))


@pytest.mark.parametrize("b", [0.05, 0.1, 0.2])
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_same_partition_as_scipy_on_balls(b, dtype):
    points = balls(3000, 64, b, seed=1).astype(dtype)
    labels = complete_linkage(points, 4 * b).labels
    np.testing.assert_array_equal(labels, scipy_labels(points, 4 * b))


def test_merges_are_scipys():
    points = np.random.default_rng(0).normal(size=(300, 4))
    expected = linkage(points, "complete", "sqeuclidean")
    whole = complete_linkage(points)
    np.testing.assert_allclose(whole.merges, expected)
    threshold = float(np.median(expected[:, 2]))
    stopped = complete_linkage(points, threshold)
    assert is_valid_linkage(whole.merges)
    np.testing.assert_allclose(stopped.merges, expected[expected[:, 2] <= threshold])
    np.testing.assert_array_equal(whole.cut(threshold), stopped.labels)
    np.testing.assert_array_equal(whole.cut_to(stopped.n_clusters), stopped.labels)
    np.testing.assert_array_equal(
        complete_linkage(points, n_clusters=stopped.n_clusters).labels, stopped.labels
    )


def test_float32_rounding_does_not_change_the_partition():
    # In float32 these three distances are one; in float64 only the first is within τ.
    far = 1e4
    points = np.array([[far, 0.0], [far + 1, 0.0], [far + 2 + 1e-9, 0.0], [far + 3 - 1e-9, 0]])
    points = np.vstack([points, -points])
    np.testing.assert_array_equal(complete_linkage(points, 1.0).labels, scipy_labels(points, 1.0))
    edge = np.array([[0.0], [1.0], [2.0 + 1e-12]])
    assert complete_linkage(edge, 1.0).labels.tolist() == [0, 0, 1]


@given(st.data())
@settings(max_examples=150, deadline=None)
def test_links_as_in_the_greedy_loop(data):
    n = data.draw(st.integers(1, 14), "n")
    rng = np.random.default_rng(data.draw(st.integers(0, 10**6), "seed"))
    points = rng.normal(size=(n, data.draw(st.integers(1, 3), "dim")))
    row = st.integers(0, n - 1)
    pair = st.tuples(row, row).filter(lambda p: p[0] != p[1])
    pairs = st.lists(pair, max_size=4) if n > 1 else st.just([])
    must, cannot = data.draw(pairs, "must"), data.draw(pairs, "cannot")
    threshold = data.draw(st.sampled_from([0.0, 0.1, 1.0, 3.0, 30.0, None]), "threshold")
    groups = greedy_complete_linkage(points, -1.0, must)
    if any(groups[i] == groups[j] for i, j in cannot):
        with pytest.raises(InputError, match="have a cannot-link"):
            complete_linkage(points, threshold, must_link=must, cannot_link=cannot)
        return
    result = complete_linkage(points, threshold, must_link=must, cannot_link=cannot)
    limit = np.finfo(float).max if threshold is None else threshold
    expected = greedy_complete_linkage(points, limit, must, cannot)
    np.testing.assert_array_equal(result.labels, expected)
    assert all(result.labels[i] == result.labels[j] for i, j in must)
    assert all(result.labels[i] != result.labels[j] for i, j in cannot)
    assert (np.diff(result.merges[:, 2]) >= 0).all()
    np.testing.assert_array_equal(result.cut_to(result.n_clusters), result.labels)


@given(st.data())
@settings(max_examples=150, deadline=None)
def test_a_number_breaks_avoid_links_only(data):
    n = data.draw(st.integers(1, 12), "n")
    rng = np.random.default_rng(data.draw(st.integers(0, 10**6), "seed"))
    points = rng.normal(size=(n, 2))
    row = st.integers(0, n - 1)
    pair = st.tuples(row, row).filter(lambda p: p[0] != p[1])
    some, many = ((st.lists(pair, max_size=k) if n > 1 else st.just([])) for k in (4, 30))
    must, avoid = data.draw(some, "must"), data.draw(many, "avoid")
    groups = greedy_complete_linkage(points, -1.0, must)
    cannot = [(i, j) for i, j in data.draw(some, "cannot") if groups[i] != groups[j]]
    links = {"must_link": must, "cannot_link": cannot, "avoid_link": avoid}
    wanted = data.draw(st.integers(1, n), "wanted")
    expected = greedy_to_number(points, wanted, **links)
    if len(expected) != wanted:
        says = f"cannot-links require at least {len(expected)}"
        if wanted > len(expected):
            says = f"must-links allow at most {len(expected)}"
        with pytest.raises(InputError, match=f"cannot make {wanted} clusters?: {says}"):
            complete_linkage(points, n_clusters=wanted, **links)
        return
    result = complete_linkage(points, n_clusters=wanted, **links)
    assert result.n_clusters == wanted
    labels = result.labels
    assert [set(np.flatnonzero(labels == k).tolist()) for k in range(wanted)] == expected
    together = {
        (min(i, j), max(i, j))
        for i, j in avoid
        if labels[i] == labels[j] and groups[i] != groups[j]  # must-linked pairs are not given up
    }
    assert list(map(tuple, result.given_up.tolist())) == sorted(together)
    np.testing.assert_array_equal(result.cut_to(wanted), labels)
    # With a threshold, or as far as it goes, an avoid-link is a cannot-link.
    strict = {
        "must_link": must,
        "cannot_link": cannot + [p for p in avoid if groups[p[0]] != groups[p[1]]],
    }
    for tau in (None, 1.0):
        kept = complete_linkage(points, tau, **links)
        np.testing.assert_array_equal(kept.merges, complete_linkage(points, tau, **strict).merges)
        assert len(kept.given_up) == 0
    if len(together):  # a height does not say where links are given up
        np.testing.assert_array_equal(result.cut(np.inf), complete_linkage(points, **strict).labels)
        np.testing.assert_array_equal(result.cut(1.0), kept.labels)


def test_blocks_do_not_matter(monkeypatch):
    rng = np.random.default_rng(0)
    points, pairs = rng.normal(size=(60, 3)), rng.integers(0, 60, (300, 2))
    links = {"avoid_link": pairs[pairs[:, 0] != pairs[:, 1]], "must_link": [(0, 1), (2, 50)]}
    expected = complete_linkage(points, n_clusters=3, **links)
    assert len(expected.given_up)
    monkeypatch.setattr("castlist.cluster.linkage._BLOCK", 130)  # two rows
    found = complete_linkage(points, n_clusters=3, **links)
    np.testing.assert_array_equal(found.merges, expected.merges)


@given(
    st.lists(st.tuples(st.integers(-3, 3), st.integers(-3, 3)), min_size=1, max_size=25),
    st.integers(0, 20),
)
@settings(max_examples=100, deadline=None)
def test_under_ties_it_is_still_complete_linkage(cells, threshold):
    """On a grid many distances are equal: whatever is chosen, nothing is too wide or mergeable."""
    points = np.array(cells, float)
    first = complete_linkage(points, threshold).labels
    np.testing.assert_array_equal(first, complete_linkage(points, threshold).labels)
    square = np.square(points[:, None] - points[None]).sum(-1)
    clusters = [np.flatnonzero(first == label) for label in range(first.max() + 1)]
    for i, a in enumerate(clusters):
        assert square[np.ix_(a, a)].max() <= threshold
        for b in clusters[:i]:
            assert square[np.ix_(a, b)].max() > threshold


def test_duplicates_and_zero_vectors():
    rng = np.random.default_rng(0)
    points = np.vstack([np.zeros((40, 8)), np.repeat(rng.normal(size=(30, 8)), 5, axis=0)])
    for threshold in (0.0, 1.0, 8.0):
        np.testing.assert_array_equal(
            complete_linkage(points, threshold).labels, scipy_labels(points, threshold)
        )


def test_tiny_inputs():
    assert complete_linkage(np.empty((0, 3)), 1.0).labels.shape == (0,)
    assert complete_linkage(np.empty((0, 3))).n_clusters == 0
    assert complete_linkage([[1.0, 2.0]], 1.0).labels.tolist() == [0]
    assert complete_linkage([[1.0], [1.5]], 0.25).labels.tolist() == [0, 0]
    assert complete_linkage([[1.0], [1.5]], 0.24).labels.tolist() == [0, 1]
    assert complete_linkage([[1], [2], [9]], n_clusters=2).labels.tolist() == [0, 0, 1]


def test_layout_and_integers_do_not_matter():
    points = np.random.default_rng(0).normal(size=(200, 6))
    expected = complete_linkage(points, 3.0).labels
    for same in (np.asfortranarray(points), np.repeat(points, 2, axis=0)[::2], points.tolist()):
        np.testing.assert_array_equal(complete_linkage(same, 3.0).labels, expected)
    grid = np.arange(10)[:, None]
    np.testing.assert_array_equal(
        complete_linkage(grid, 1).labels, complete_linkage(grid.astype(float), 1.0).labels
    )


def test_tiles_do_not_matter(monkeypatch):
    points = np.random.default_rng(0).normal(size=(150, 5))
    expected = complete_linkage(points, 4.0)
    monkeypatch.setattr("castlist.cluster.pair_search.TILE_ROWS", 7)
    monkeypatch.setattr("castlist.cluster.pair_search.TILE_COLUMNS", 11)
    np.testing.assert_array_equal(complete_linkage(points, 4.0).merges, expected.merges)


def test_must_links_beyond_the_threshold_are_kept():
    result = complete_linkage([[0.0], [10.0], [0.1]], 1.0, must_link=[(0, 1)])
    assert result.labels.tolist() == [0, 0, 1]  # row 2 is far from row 1, which is in the cluster
    assert result.cut(0.0).tolist() == [0, 0, 1]


def test_progress_is_reported():
    seen = []
    complete_linkage(np.eye(50), 1.0, progress=lambda *call: seen.append(call))
    assert seen[-1] == ("searching pairs", 1250, 1250)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"X": [[np.nan]]}, "row 0 has a value that is not finite"),
        ({"X": [1.0, 2.0]}, "rows × dims"),
        ({"X": [["a"]]}, "must be numbers"),
        ({"threshold": -1.0}, "0 or more"),
        ({"threshold": float("nan")}, "0 or more"),
        ({"threshold": None, "n_clusters": 9}, "9 clusters of 3 rows"),
        ({"n_clusters": 2}, "not both"),
        ({"must_link": [(0, 3)]}, "has row 3, but there are 3 rows"),
        ({"must_link": [(0, 1, 2)]}, "pairs of row numbers"),
        ({"cannot_link": [(0.5, 1)]}, "pairs of row numbers"),
        ({"cannot_link": [(1, 1)]}, "rows 1 and 1 have a cannot-link"),
        (
            {"must_link": [(0, 1), (1, 2)], "cannot_link": [(2, 0)]},
            "rows 2 and 0 have a cannot-link, but must-links put them into one cluster",
        ),
    ],
)
def test_bad_arguments_are_refused(arguments, message):
    with pytest.raises(InputError, match=message):
        complete_linkage(**{"X": [[0.0], [1.0], [2.0]], "threshold": 1.0, **arguments})


def test_impossible_cuts_are_refused():
    result = complete_linkage([[0.0], [1.0], [9.0]], 2.0)
    with pytest.raises(InputError, match="cannot cut at 3: merging stopped at threshold 2"):
        result.cut(3.0)
    with pytest.raises(InputError, match="cannot cut to 1 cluster: merging stopped at 2"):
        result.cut_to(1)
    with pytest.raises(InputError, match="cannot cut to 4 clusters: there were at most 3"):
        result.cut_to(4)
    apart = {"cannot_link": [(0, 1), (0, 2), (1, 2)]}
    with pytest.raises(InputError, match="make 2 clusters: cannot-links require at least 3"):
        complete_linkage([[0.0], [1.0], [9.0]], n_clusters=2, **apart)


def test_a_dendrogram_that_cannot_fit_is_refused(monkeypatch):
    monkeypatch.setattr("castlist.cluster.linkage.DENSE_BYTES", 1000)
    with pytest.raises(InputError, match="give a threshold, which needs only the pairs within it"):
        complete_linkage(np.eye(100))


@settings(max_examples=60, deadline=None)
@given(
    n=st.integers(1, 60), seed=st.integers(0, 10**6), tau=st.floats(0.01, 8.0),
    n_links=st.integers(0, 25),
)  # fmt: skip
def test_few_rows_are_clustered_like_many(n, seed, tau, n_links):
    """By the whole dendrogram, and by pairs within τ; links of every kind."""
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(n, 3))
    links = rng.integers(0, n, (n_links, 2))
    links = links[links[:, 0] != links[:, 1]]
    must, cannot, avoid = np.array_split(links, 3)
    group = resolve_links(n, must, None).group
    cannot = cannot[group[cannot[:, 0]] != group[cannot[:, 1]]]
    how = {"must_link": must, "cannot_link": cannot, "avoid_link": avoid}
    many = complete_linkage(points, tau, **how)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(linkage_module, "FEW_ROWS", 60)
        few = complete_linkage(points, tau, **how)
    np.testing.assert_array_equal(few.labels, many.labels)
    np.testing.assert_allclose(few.merges, many.merges)


def test_without_numba_thousands_of_rows_are_clustered_and_more_are_refused(monkeypatch):
    points = np.random.default_rng(0).normal(size=(300, 4))
    many = complete_linkage(points, 2.0)
    monkeypatch.setitem(sys.modules, "numba", None)
    monkeypatch.setattr("castlist.cluster.linkage.installed", lambda _: False)
    np.testing.assert_array_equal(complete_linkage(points, 2.0).labels, many.labels)
    monkeypatch.setattr(linkage_module, "FEW_WITHOUT_NUMBA", 200)
    with pytest.raises(CastlistError, match=r"300 rows needs Numba.*castlist\[large\]"):
        complete_linkage(points, 2.0)
