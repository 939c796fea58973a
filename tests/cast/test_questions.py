from __future__ import annotations

import numpy as np
import pytest

from castlist.cast.log import Event
from castlist.cast.questions import CANDIDATES, SHOWN, come_apart, evidence, questions
from castlist.cast.replay import State

NO_FRAMES = np.empty((0, 2), np.int64)


def unit(x):
    return (x / np.linalg.norm(x, axis=1, keepdims=True)).astype(np.float32)


def some_people(counts, dim=12, noise=0.05, seed=0):
    """Return points around one direction a person, and who is who."""
    rng = np.random.default_rng(seed)
    who = np.repeat(np.arange(len(counts)), counts)
    return unit(np.eye(dim)[who] + noise * rng.normal(size=(len(who), dim))), who


def ask(points, state, overlaps=NO_FRAMES, most=20):
    return questions(points, points, state, overlaps, np.ones(len(points)), most)


def say(state, kind, **body):
    state.apply(Event(1, 0.0, "", kind, body), lambda rows: np.asarray(rows, np.int64))


def test_a_piece_of_somebody_is_asked_about_first_and_with_its_other_piece():
    points, who = some_people([30, 20, 10])
    labels = who.copy()
    labels[:8] = 7  # a piece of the first
    first = ask(points, State.of(labels + 1))[0]
    assert not first.mixed
    assert first.one.character == 8
    assert first.others[0].character == 1
    assert len(first.one.shown) == SHOWN
    assert list(first.likely) == sorted(first.likely, reverse=True)


def test_two_people_in_one_are_asked_about():
    points, who = some_people([30, 4, 20])
    first = ask(points, State.of(np.where(who == 1, 0, who) + 1))[0]
    assert first.mixed
    assert sorted(first.one.tracks.tolist()) == [30, 31, 32, 33]
    assert first.others[0].character == first.one.character == 1


def test_what_was_answered_is_not_asked_again():
    points, who = some_people([12, 9, 6, 3])
    state = State.of(who + 1)
    for _ in range(100):
        asked = ask(points, state, most=1)
        if not asked:
            break
        one, others = asked[0].one, asked[0].others
        if asked[0].mixed:
            say(state, "same", a=one.tracks, b=others[0].shown)
        else:
            say(state, "different", a=one.shown, b=[other.shown for other in others])
    else:
        pytest.fail("questions never end")
    assert (state.owner == who + 1).all()


def test_two_names_are_two_people():
    points, who = some_people([9, 6])
    state = State.of(who + 1)
    say(state, "name", who=np.flatnonzero(who == 0), name="Anna")
    say(state, "name", who=np.flatnonzero(who == 1), name="Bo")
    assert all(question.mixed for question in ask(points, state))


def test_a_shared_frame_makes_it_less_likely_and_a_waived_one_does_not():
    points, who = some_people([9, 6], noise=0.4)
    state = State.of(who + 1)

    def likely(overlaps):
        return next(q for q in ask(points, state, overlaps) if not q.mixed).likely[0]

    pairs = np.array([[0, 9], [1, 10]])
    free, shared = likely(NO_FRAMES), likely(pairs)
    assert shared < free
    state.waived = {(0, 9), (1, 10)}
    assert likely(pairs) == pytest.approx(free)


def test_no_more_candidates_than_fit_and_nobody_is_left_out():
    points, who = some_people([3] * 12)
    asked = [q for q in ask(points, State.of(who + 1), most=100) if not q.mixed]
    assert max(len(q.others) for q in asked) == CANDIDATES
    assert {q.one.character for q in asked} | {o.character for q in asked for o in q.others} == set(
        range(1, 13)
    )


def test_evidence_by_hand():
    points = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]])
    shared = np.array([[0, 2], [2, 0]])
    told = evidence(points, [np.array([0, 1]), np.array([2])], shared)
    assert told[0, 1] == pytest.approx([np.sqrt(0.5), 0.0, np.log(2), np.log(3)])


def test_a_large_character_comes_apart_as_a_whole():
    points, _ = some_people([900, 100])
    ways = come_apart(points, np.arange(1000))
    part, rest, cosine = min(ways, key=lambda way: way[2])
    assert set(part.tolist()) == set(range(900, 1000))
    assert len(rest) == 900
    assert cosine < 0.1


@pytest.mark.parametrize("labels", [[], [1], [1, 1], [1, 2]])
def test_tiny_casts(labels):
    points = unit(np.ones((len(labels), 3))) if labels else np.empty((0, 3), np.float32)
    assert len(ask(points, State.of(np.array(labels, np.int64)))) <= 1
