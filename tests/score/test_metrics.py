from __future__ import annotations

import math
from collections import Counter
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from castlist import InputError, bcubed_f, evaluate, nmi, pairwise_f, wcp

labellings = st.integers(1, 25).flatmap(
    lambda n: st.tuples(*[st.lists(st.integers(0, 5), min_size=n, max_size=n)] * 2)
)


def entropy(counts, n):
    return -sum(c / n * math.log(c / n) for c in counts)


@given(labellings)
def test_nmi_is_the_papers_formula(case):
    y, c = case
    n = len(y)
    h_y, h_c = entropy(Counter(y).values(), n), entropy(Counter(c).values(), n)
    mutual = h_y + h_c - entropy(Counter(zip(y, c, strict=True)).values(), n)
    expected = 2 * mutual / (h_y + h_c) if h_y + h_c else 1.0
    assert nmi(y, c) == pytest.approx(expected, abs=1e-9)


@given(labellings)
def test_wcp_counts_the_main_identity_of_each_cluster(case):
    y, c = case
    right = sum(
        max(Counter(a for a, b in zip(y, c, strict=True) if b == k).values()) for k in set(c)
    )
    assert wcp(y, c) == pytest.approx(right / len(y))


@given(labellings)
def test_pairwise_f_counts_pairs(case):
    y, c = case
    pairs = list(combinations(range(len(y)), 2))
    true, found = ({p for p in pairs if v[p[0]] == v[p[1]]} for v in (y, c))
    both = len(true & found)
    expected = 2 * both / (len(true) + len(found)) if true or found else 1.0
    assert pairwise_f(y, c) == pytest.approx(expected)


@given(labellings)
def test_bcubed_f_averages_over_rows(case):
    y, c = map(np.array, case)
    precision = np.mean([(y[c == c[i]] == y[i]).mean() for i in range(len(y))])
    recall = np.mean([(c[y == y[i]] == c[i]).mean() for i in range(len(y))])
    assert bcubed_f(y, c) == pytest.approx(2 * precision * recall / (precision + recall))


@given(labellings, st.permutations(range(6)))
def test_names_of_clusters_do_not_matter(case, renamed):
    y, c = case
    assert evaluate(y, c).to_dict() == pytest.approx(
        evaluate([f"person {k}" for k in y], [renamed[k] for k in c]).to_dict()
    )


def test_the_extremes_of_the_papers_table():
    y = np.repeat(np.arange(4), [5, 3, 1, 1])
    one, singletons = np.zeros(10), np.arange(10)
    assert (nmi(y, one), wcp(y, one)) == (0, 0.5)
    assert wcp(y, singletons) == 1
    assert nmi(y, singletons) > 0  # by the formula; docs/research/paper-notes.md
    perfect = evaluate(y, y[::1] + 7)
    assert (perfect.nmi, perfect.wcp, perfect.ari, perfect.bcubed_f) == (1, 1, 1, 1)
    assert (perfect.n_tracks, perfect.n_characters, perfect.n_clusters) == (10, 4, 4)


def test_bad_arguments_are_refused():
    with pytest.raises(InputError, match="vectors of one length"):
        nmi([1, 2], [1])
    with pytest.raises(InputError, match="nothing to score"):
        wcp([], [])
