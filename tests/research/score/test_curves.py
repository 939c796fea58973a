from __future__ import annotations

import numpy as np
import pytest

from castlist import InputError, complete_linkage, nmi, wcp
from castlist.research import curve


@pytest.mark.parametrize("seed", range(5))
def test_every_point_is_the_score_of_that_cut(seed):
    rng = np.random.default_rng(seed)
    points, truth = rng.normal(size=(60, 2)), rng.integers(0, 7, 60)
    whole = complete_linkage(points)
    found = curve(truth, whole.merges)
    assert found.n_clusters.tolist() == list(range(60, 0, -1))
    for k, a, b in zip(found.n_clusters, found.nmi, found.wcp, strict=True):
        labels = whole.cut_to(int(k))
        assert a == pytest.approx(nmi(truth, labels), abs=1e-9)
        assert b == pytest.approx(wcp(truth, labels))


def test_a_stopped_linkage_gives_the_beginning():
    rng = np.random.default_rng(0)
    points, truth = rng.normal(size=(60, 2)), rng.integers(0, 7, 60)
    whole, part = curve(truth, complete_linkage(points).merges), complete_linkage(points, 0.5)
    begun = curve(truth, part.merges)
    assert begun.n_clusters[-1] == part.n_clusters
    np.testing.assert_allclose(begun.nmi, whole.nmi[: len(begun.nmi)])


def test_merges_of_other_rows_are_refused():
    with pytest.raises(InputError, match="do not fit"):
        curve([1, 2], complete_linkage(np.eye(5)).merges)
