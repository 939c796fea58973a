from __future__ import annotations

from itertools import count

import numpy as np
import pytest

from castlist import InputError
from castlist.cast.answers import Answer
from castlist.cast.state import State


def cast(**names):
    """Return three characters: tracks 0 to 2, 3 and 4, 5 and 6; ``c1`` and so on are names."""
    state = State.of(np.array([1, 1, 1, 2, 2, 3, 3]))
    state.names |= {int(key[1:]): name for key, name in names.items()}
    return state


def answered(state, one, same=(), different=(), instead=None):
    """Apply an answer; return whose each track is."""
    groups = [[np.array(rows, np.int64) for rows in some] for some in (same, different)]
    others = [np.array(rows, np.int64) for rows in instead or [()] * len(different)]
    answer = Answer(state, np.array(one), groups[0], groups[1], [], others)
    answer.check()
    answer.apply(count(10))
    return state.owner.tolist()


def test_tracks_of_a_named_character_may_be_of_another_named_one():
    """They are not who they were called, so that name says nothing of them."""
    owner = answered(cast(c1="Anna", c2="Bo"), [0], different=[[1, 2]], instead=[[3]])
    assert owner == [1, 2, 2, 2, 2, 3, 3]


def test_tracks_that_bring_a_name_do_not_go_to_another_name():
    with pytest.raises(InputError, match="different names, Bo and Cy: merge them instead"):
        answered(cast(c1="Anna", c2="Bo", c3="Cy"), [0], different=[[5]], instead=[[3]])
    owner = answered(cast(c1="Anna", c2="Bo"), [0], different=[[5]], instead=[[3]])
    assert (owner[5], owner[0]) == (2, 1)


def test_the_same_person_has_one_name():
    with pytest.raises(InputError, match="different names, Anna and Bo: merge them instead"):
        answered(cast(c1="Anna", c2="Bo"), [0], same=[[3]])
    state = cast(c2="Bo")
    assert answered(state, [0], same=[[3]]) == [1, 1, 1, 1, 1, 3, 3]
    assert state.names == {1: "Bo", 2: "Bo"}


def test_who_is_different_from_their_own_character_becomes_a_new_one():
    assert answered(cast(), [0], different=[[1], [5]]) == [1, 10, 1, 2, 2, 3, 3]


@pytest.mark.parametrize(
    ("different", "instead", "message"),
    [
        ([[3]], [[1]], "cannot be the character that the tracks are different from"),
        ([[1]], [[3, 5]], "must belong to one character"),
        ([[1]], [[0]], "in two groups"), ([[1]], [[1]], "in two groups"),
        ([[0]], None, "in two groups"), ([[1], [1]], None, "in two groups"),
        ([], None, "compares no tracks"),
    ],
)  # fmt: skip
def test_an_answer_that_contradicts_itself_changes_nothing(different, instead, message):
    state = cast()
    with pytest.raises(InputError, match=message):
        answered(state, [0], different=different, instead=instead)
    assert state.owner.tolist() == [1, 1, 1, 2, 2, 3, 3]
    assert not state.pin.any()
