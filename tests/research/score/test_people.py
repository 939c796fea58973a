"""Characters against people, worked by hand."""

from __future__ import annotations

import numpy as np
import pytest

from castlist.research.score.people import CrossTable


def test_by_hand():
    #        character 1: anna ×3, ben; 2: anna; 3: ben, carl; 5: carl, carl
    who = ["anna", "anna", "anna", "ben", "anna", "ben", "carl", "carl", "carl"]
    table = CrossTable(np.array(who), np.array([1, 1, 1, 1, 2, 3, 3, 5, 5]))
    assert table.people.tolist() == ["anna", "ben", "carl"]
    assert table.counts.tolist() == [[3, 1, 0, 0], [1, 0, 1, 0], [0, 0, 1, 2]]
    assert table.owner.tolist() == [0, 0, 1, 2]  # the tie of 3 is ben's, by name
    assert table.owned.tolist() == [2, 1, 1]
    assert np.flatnonzero(table.wrong).tolist() == [3, 6]
    assert table.pieces == 1
    assert table.pure.tolist() == [False, True, False, True]
    assert table.whole.tolist() == [False, False, False, False]
    assert table.wcp == pytest.approx(7 / 9)
    assert table.accuracy == pytest.approx(6 / 9)  # anna 1, ben 3, carl 5


def test_people_without_a_character_add_no_pieces():
    table = CrossTable(np.array(["anna", "anna", "ben"]), np.array([4, 4, 4]))
    assert (table.owned.tolist(), table.pieces) == ([1, 0], 0)
    assert (table.wcp, table.accuracy, table.nmi) == (pytest.approx(2 / 3), pytest.approx(2 / 3), 0)
    assert (table.pure.tolist(), table.whole.tolist()) == ([False], [True])


def test_a_perfect_clustering():
    table = CrossTable(np.array(["a", "b", "a"]), np.array([2, 1, 2]))
    assert (table.nmi, table.wcp, table.accuracy, table.pieces) == (1, 1, 1, 0)
    assert table.pure.all()
    assert table.whole.all()


def test_no_tracks():
    table = CrossTable(np.empty(0, str), np.empty(0, int))
    assert (table.nmi, table.wcp, table.accuracy, table.pieces) == (0, 0, 0, 0)
    assert [len(x) for x in (table.wrong, table.owned, table.pure, table.whole)] == [0] * 4
