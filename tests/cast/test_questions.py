from __future__ import annotations

from itertools import count

import numpy as np
import pytest

from castlist.cast.answers import Answer
from castlist.cast.doubts import CANDIDATES
from castlist.cast.questions import SHOWN, questions
from castlist.cast.state import State
from tests.cast.test_evidence import facts

NO_FRAMES = np.empty((0, 2), np.int64)


def unit(x):
    return (x / np.linalg.norm(x, axis=1, keepdims=True)).astype(np.float32)


def some_people(counts, dim=12, noise=0.05, seed=0):
    """Return points around one direction a person, and who is who."""
    rng = np.random.default_rng(seed)
    who = np.repeat(np.arange(len(counts)), counts)
    return unit(np.eye(dim)[who] + noise * rng.normal(size=(len(who), dim))), who


def ask(points, state, overlaps=NO_FRAMES, most=20, skipped=()):
    return questions(points, facts(points, overlaps=overlaps), state, most, skipped)


def answer(state, question, who):
    """Say what is true."""

    def of(strip):
        return np.bincount(who[strip.tracks]).argmax()

    me = of(question.one)
    said = {"same": [], "different": [], "instead": []}
    for other, instead in zip(question.others, question.instead, strict=True):
        inside = other.character == question.one.character
        rows = other.tracks if inside else other.shown  # as the page does
        if of(other) == me:
            said["same"].append(rows)
        else:
            said["different"].append(rows)
            right = instead is not None and of(instead) == of(other)
            said["instead"].append(instead.shown if right else rows[:0])
    made = Answer(state, question.one.shown, mixed=[], **said)
    made.check()
    made.apply(count(int(state.owner.max()) + 1))


def outside(question):
    return [other for other in question.others if other.character != question.one.character]


def test_a_piece_of_somebody_is_asked_about_first_and_with_its_other_piece():
    points, who = some_people([30, 20, 10])
    labels = who.copy()
    labels[:8] = 7  # a piece of the first
    first = ask(points, State.of(labels + 1))[0]
    assert {first.one.character, outside(first)[0].character} == {1, 8}
    assert len(outside(first)[0].shown) == SHOWN
    assert first.likely[0] > 0.5


def test_two_people_in_one_are_asked_about_and_who_they_are_instead():
    points, who = some_people([30, 4, 20])
    labels = np.where((who == 1) & (np.arange(54) != 33), 0, who)  # three of the second's tracks
    asked = next(q for q in ask(points, State.of(labels + 1)) if q.one.character == 1)
    place = [other.tracks.tolist() for other in asked.others].index([30, 31, 32])
    assert asked.others[place].character == 1
    assert asked.instead[place].character == 2
    assert not np.isin(asked.one.tracks, [30, 31, 32]).any()


def test_true_answers_bring_everything_right_and_end():
    points, who = some_people([12, 9, 6, 3], noise=0.05)
    labels = who.copy()
    labels[:3], labels[12:14], labels[25] = 9, 0, 1
    state = State.of(labels + 1)
    for _ in range(100):
        asked = ask(points, state, most=1)
        if not asked:
            break
        answer(state, asked[0], who)
    else:
        pytest.fail("questions never end")
    pairs = {(int(a), int(b)) for a, b in zip(state.owner, who, strict=True)}
    assert len(pairs) == len(set(who.tolist()))


def test_what_is_skipped_is_not_asked_again():
    points, who = some_people([12, 9, 6, 3], noise=0.15)
    state, skipped, asked = State.of(who + 1), [], []
    while found := ask(points, state, most=1, skipped=skipped):
        asked.append(found[0])
        skipped += [(found[0].one.shown, other.tracks) for other in found[0].others]
        assert len(asked) < 100, "questions never end"
    seen = [(q.one.character, tuple(o.tracks)) for q in asked for o in q.others]
    assert len(set(seen)) == len(seen)


def test_nothing_is_asked_twice_from_both_sides():
    points, who = some_people([5, 4, 3], noise=0.3)
    pairs = [
        frozenset((q.one.character, o.character))
        for q in ask(points, State.of(who + 1))
        for o in outside(q)
    ]
    assert len(set(pairs)) == len(pairs) == 3


def test_two_names_are_two_people():
    points, who = some_people([9, 6])
    state = State.of(who + 1)
    state.names = {1: "Anna", 2: "Bo"}
    assert not any(outside(question) for question in ask(points, state))


def test_a_shared_frame_makes_it_less_likely_and_a_waived_one_does_not():
    points, who = some_people([9, 6], noise=0.4)
    state = State.of(who + 1)

    def likely(overlaps):
        found = next(q for q in ask(points, state, overlaps) if outside(q))
        return found.likely[[o.character != found.one.character for o in found.others].index(True)]

    pairs = np.array([[0, 9], [1, 10]])
    free, shared = likely(NO_FRAMES), likely(pairs)
    assert shared < free
    state.waived = {(0, 9), (1, 10)}
    assert likely(pairs) == pytest.approx(free)


def test_no_more_candidates_than_fit_and_nobody_is_left_out():
    points, who = some_people([3] * 12)
    asked = ask(points, State.of(who + 1), most=100)
    assert max(len(q.others) for q in asked) == CANDIDATES
    met = {q.one.character for q in asked} | {o.character for q in asked for o in outside(q)}
    assert met == set(range(1, 13))


@pytest.mark.parametrize("labels", [[], [1], [1, 1], [1, 2]])
def test_tiny_casts(labels):
    points = unit(np.ones((len(labels), 3))) if labels else np.empty((0, 3), np.float32)
    assert len(ask(points, State.of(np.array(labels, np.int64)))) <= 1


def test_who_is_called_mixed_is_asked_about_in_parts_and_with_nobody_else():
    points, who = some_people([20, 20, 9], noise=0.25)
    state = State.of(np.where(who == 1, 0, who) + 1)  # the first two are one character
    shown = np.concatenate([np.flatnonzero(who == 0)[:3], np.flatnonzero(who == 1)[:3]])
    state.mixed.append(shown)
    first = ask(points, state)[0]
    assert first.one.character == 1
    assert not outside(first)
    assert not any(o.character == 1 for q in ask(points, state) for o in outside(q))
    part = first.others[0].tracks
    assert len(set(who[part].tolist())) == 1
    state.pin[who == 1] = 9  # they came apart: it may be compared again
    assert any(1 in (q.one.character, *(o.character for o in outside(q)))
               for q in ask(points, state) if outside(q))  # fmt: skip


def test_a_single_track_that_is_mixed_waits_to_be_cut():
    points, who = some_people([9, 6])
    state = State.of(who + 1)
    state.mixed.append(np.array([3]))
    rows = {int(row) for q in ask(points, state, most=99) for s in (q.one, *q.others)
            for row in s.tracks}  # fmt: skip
    assert 3 not in rows
