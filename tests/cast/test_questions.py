from __future__ import annotations

from itertools import count

import numpy as np
import pytest
from scipy.cluster.hierarchy import fcluster, linkage

from castlist.cast.answers import Answer
from castlist.cast.evidence import Groups
from castlist.cast.questions import (
    CHOICES,
    DOUBTS,
    SHOWN,
    parts_of,
    possible_merges,
    possible_splits,
    questions,
)
from castlist.cast.state import State
from tests.cast.test_evidence import facts

NO_FRAMES = np.empty((0, 2), np.int64)


def unit(x):
    return (x / np.linalg.norm(x, axis=1, keepdims=True)).astype(np.float32)


def some_people(counts, dim=12, noise=0.05, seed=0, alike=0.0):
    """Return points around one direction a person, and who is who; all may be alike."""
    rng = np.random.default_rng(seed)
    who = np.repeat(np.arange(len(counts)), counts)
    return unit(alike + np.eye(dim)[who] + noise * rng.normal(size=(len(who), dim))), who


def ask(points, state, overlaps=NO_FRAMES, most=20, skipped=()):
    return questions(points, facts(points, overlaps=overlaps), state, most, skipped)


def say(state, pair, said):
    """Answer one doubt by the place of whom it is, -1 for somebody else, as the page does."""
    none = np.empty(0, np.int64)
    rows = pair.other.tracks if pair.inside else pair.other.shown
    ones = [one.shown for one in pair.ones]
    made = []
    if said >= 0 and not (pair.inside and said):
        made.append((ones[said], [rows], [], []))
    elif pair.inside:
        made.append((ones.pop(0), [], [rows], [ones[said - 1] if said > 0 else none]))
    if said < 0 and ones:
        made.append((rows, [], ones, [none] * len(ones)))
    for one, same, different, instead in made:
        given = Answer(state, one, same, different, [], instead)
        given.check()
        given.apply(count(int(state.owner.max()) + 1))


def answer(state, question, who):
    """Say what is true."""

    def of(strip):
        return np.bincount(who[strip.tracks]).argmax()

    for pair in question.pairs:
        right = [of(one) == of(pair.other) for one in pair.ones]
        say(state, pair, right.index(True) if any(right) else -1)


def pairs_of(asked):
    """Return every two groups that are compared, by number if they are whole characters."""
    return [
        (one.character, pair.other.character, tuple(pair.other.tracks) if pair.inside else ())
        for question in asked
        for pair in question.pairs
        for one in pair.ones[: 1 if pair.inside else None]
    ]


def outside(asked):
    return [pair for question in asked for pair in question.pairs if not pair.inside]


def test_a_piece_of_somebody_is_asked_about_first_and_with_its_other_piece():
    points, who = some_people([30, 20, 10])
    labels = who.copy()
    labels[:8] = 7  # a piece of the first
    piece = outside(ask(points, State.of(labels + 1))[:1])[0]
    assert (piece.other.character, piece.ones[0].character) == (8, 1)
    assert len(piece.ones[0].shown) == SHOWN
    assert piece.likely[0] > 0.5
    assert list(piece.likely) == sorted(piece.likely, reverse=True)


def test_two_people_in_one_are_asked_about_and_who_they_are_instead():
    points, who = some_people([30, 4, 20])
    labels = np.where((who == 1) & (np.arange(54) != 33), 0, who)  # three of the second's tracks
    first = ask(points, State.of(labels + 1))[0]
    part = next(pair for pair in first.pairs if pair.other.tracks.tolist() == [30, 31, 32])
    assert part.inside
    assert [one.character for one in part.ones[:2]] == [1, 2]
    assert not any(np.isin(one.tracks, [30, 31, 32]).any() for p in first.pairs for one in p.ones)


def test_a_mixed_character_is_settled_by_one_answer():
    """Nothing needs to be pure: a stray track, a piece and a part of somebody else at once."""
    points, who = some_people([12, 9, 6, 3], noise=0.05)
    labels = who.copy()
    labels[:3], labels[12:14], labels[25] = 9, 0, 1
    state = State.of(labels + 1)
    answer(state, ask(points, state, most=1)[0], who)
    assert len(set(zip(state.owner.tolist(), who.tolist(), strict=True))) == 4


@pytest.mark.parametrize("noise", [0.05, 0.15, 0.3])
def test_true_answers_end_and_make_nothing_worse(noise):
    """Each question leaves at most as many pairs of tracks wrong as there were."""
    points, who = some_people([12, 9, 6, 3, 1, 1], noise=noise)
    labels = who.copy()
    labels[:3], labels[12:14], labels[25] = 9, 0, 1
    state = State.of(labels + 1)

    def wrong():
        owner = state.owner
        return ((owner[:, None] == owner) != (who[:, None] == who)).sum()

    before = [wrong()]
    while asked := ask(points, state, most=1):
        answer(state, asked[0], who)
        before.append(wrong())
        assert len(before) < 100, "questions never end"
    assert before == sorted(before, reverse=True)
    assert before[-1] == 0


def test_rejected_candidates_are_not_compared_again():
    points, who = some_people([30, 4, 20, 3], noise=0.15, alike=0.3)
    labels = np.where(np.arange(57) == 30, 0, who)
    state = State.of(labels + 1)
    pair = next(p for q in ask(points, state, most=99) for p in q.pairs if 30 in p.other.tracks)
    assert pair.inside
    assert len(pair.ones) > 1
    say(state, pair, -1)
    refused = {one.character for one in pair.ones}
    again = [p for q in ask(points, state, most=99) for p in q.pairs if 30 in p.other.tracks]
    assert not refused & {one.character for p in again for one in p.ones}


def test_certain_characters_are_not_asked_about():
    points, who = some_people([12, 12], noise=0.01)
    points[12:] = -points[12:]
    assert not ask(points, State.of(who + 1), np.array([[0, 12]]))


def test_a_question_that_is_hardly_ever_right_is_not_asked(monkeypatch):
    points, who = some_people([12, 12], alike=0.2)
    assert not ask(points, State.of(who + 1))
    monkeypatch.setattr("castlist.cast.questions.WORTH_ASKING", 0.0)
    assert ask(points, State.of(who + 1))


def test_skipped_pairs_are_not_asked_again():
    points, who = some_people([12, 9, 6, 3], noise=0.4)
    state, skipped, seen = State.of(who + 1), [], []
    while asked := ask(points, state, most=1, skipped=skipped):
        seen += pairs_of(asked)
        for pair in asked[0].pairs:
            ones = pair.ones[: 1 if pair.inside else None]
            skipped += [(one.shown, pair.other.tracks) for one in ones]
        assert len(seen) < 1000, "questions never end"
    assert len(set(seen)) == len(seen) > 0


def test_nothing_is_asked_twice():
    points, who = some_people([5, 4, 3], noise=0.3, alike=0.6)
    asked = pairs_of(ask(points, State.of(who + 1)))
    assert len(set(asked)) == len(asked)
    characters = [frozenset(pair[:2]) for pair in asked if pair[0] != pair[1]]
    assert len(set(characters)) == len(characters) == 3


def test_two_names_are_two_people():
    points, who = some_people([9, 6], noise=0.2, alike=0.6)
    state = State.of(who + 1)
    assert outside(ask(points, state))  # they look alike
    state.names = {1: "Anna", 2: "Bo"}
    assert not outside(ask(points, state))


def test_characters_of_one_name_are_compared_though_they_look_different():
    points, who = some_people([9, 6])
    state = State.of(who + 1)
    assert not outside(ask(points, state))
    state.names = {1: "Anna", 2: "Anna"}
    (asked,) = outside(ask(points, state))
    assert asked.likely == (pytest.approx(0.9),)


def test_a_shared_frame_makes_it_less_likely_and_a_waived_one_does_not():
    points, who = some_people([9, 6], noise=0.2, alike=0.6)
    state = State.of(who + 1)

    def likely(overlaps):
        asked = outside(ask(points, state, overlaps))
        return asked[0].likely[0] if asked else 0.0  # so unlikely that it is not asked

    pairs = np.array([[0, 9], [1, 10]])
    free, shared = likely(NO_FRAMES), likely(pairs)
    assert shared < free
    state.waived = {(0, 9), (1, 10)}
    assert likely(pairs) == pytest.approx(free)


def test_no_more_doubts_than_fit():
    points, who = some_people([3] * 12, noise=0.2, alike=0.6)
    asked = ask(points, State.of(who + 1), most=100)
    assert len(asked[0].pairs) == DOUBTS
    assert all(len(q.pairs) == DOUBTS for q in asked[:-1])
    assert max(len(pair.ones) for pair in outside(asked)) == CHOICES
    assert len(ask(points, State.of(who + 1), most=1)) == 1


def test_most_of_a_character_stays_to_compare_with():
    points, who = some_people([2, 7, 20], noise=0.5)
    for question in ask(points, State.of(who + 1), most=100):
        for pair in question.pairs:
            if pair.inside:
                n = (who + 1 == pair.other.character).sum()
                assert 2 * len(pair.ones[0].tracks) >= n


@pytest.mark.parametrize("labels", [[], [1], [1, 1], [1, 2]])
def test_tiny_casts(labels):
    points = unit(np.ones((len(labels), 3))) if labels else np.empty((0, 3), np.float32)
    assert len(ask(points, State.of(np.array(labels, np.int64)))) <= 1


def test_mixed_characters_are_asked_about_in_parts_only():
    points, who = some_people([20, 20, 9], noise=0.25)
    state = State.of(np.where(who == 1, 0, who) + 1)  # the first two are one character
    shown = np.concatenate([np.flatnonzero(who == 0)[:3], np.flatnonzero(who == 1)[:3]])
    state.mixed.append(shown)
    asked = ask(points, state)
    assert not any(1 in pair[:2] for pair in pairs_of(asked) if pair[0] != pair[1])
    parts = [p.other.tracks for p in asked[0].pairs if p.inside and p.other.character == 1]
    assert max((len(set(who[part].tolist())) == 1, len(part)) for part in parts) == (True, 20)
    state.pin[who == 1], state.pin[:6] = 9, 10  # they came apart: it may be compared again
    assert any(1 in pair[:2] for pair in pairs_of(ask(points, state)) if pair[0] != pair[1])


def test_a_single_track_that_is_mixed_waits_to_be_cut():
    points, who = some_people([9, 6], noise=0.4)
    state = State.of(who + 1)
    state.mixed.append(np.array([3]))
    rows = [row for q in ask(points, state, most=99) for p in q.pairs
            for strip in (p.other, *p.ones) for row in strip.tracks.tolist()]  # fmt: skip
    assert rows
    assert 3 not in rows


def test_parts_are_those_of_average_linkage():
    points, _ = some_people([6, 5, 4], noise=0.3)
    parts = {tuple(np.flatnonzero(part)) for part in parts_of(points, np.arange(15))}
    tree = linkage(points, "average")
    expected = set()
    for k in range(1, 15):
        labels = fcluster(tree, k, "maxclust")
        for c in np.unique(labels):
            rows = tuple(np.flatnonzero(labels == c))
            if 2 * len(rows) <= 15:
                expected.add(rows)
    assert parts == expected | {(i,) for i in range(15)}


def test_a_large_character_comes_apart_as_a_whole():
    points, _ = some_people([900, 100])
    parts = parts_of(points, np.arange(1000))
    assert any(set(np.flatnonzero(part)) == set(range(900, 1000)) for part in parts)
    assert (2 * parts.sum(axis=1) <= 1000).all()


def test_strangers_in_a_character_are_its_first_doubt():
    points, who = some_people([30, 4, 20])
    place = np.where(who == 1, 0, who)
    place = np.unique(place, return_inverse=True)[1]
    members = [np.flatnonzero(place == k) for k in range(2)]
    groups = Groups.of(points, facts(points), place)

    def doubts(checked=(), compared=()):
        seen = np.isin(np.arange(54), checked)
        found = possible_splits(points, facts(points), members, groups, seen, compared)
        return [doubt.rows.tolist() for doubt in found if doubt.place == 0]

    assert doubts()[0] == [30, 31, 32, 33]
    rows = np.concatenate(doubts())
    assert len(np.unique(rows)) == len(rows)  # no track twice
    assert 2 * len(rows) <= 34
    assert not any(31 in part for part in doubts(checked=[31]))
    # all four were compared with some of the rest and called one: not asked again as four or
    # three, but each may still be a stray one
    left = doubts(compared=[(np.arange(6), np.arange(30, 34))])
    assert max(len({30, 31, 32, 33} & set(part)) for part in left) == 2


@pytest.mark.parametrize("mixed", [[], [0], [1]])
def test_some_part_of_a_character_that_is_several_people_is_wrong_for_sure(mixed):
    points, who = some_people([12, 8, 9, 7], noise=0.4)
    place = who // 2
    members = [np.flatnonzero(place == k) for k in range(2)]
    groups, seen = Groups.of(points, facts(points), place), np.zeros(36, bool)
    found = possible_splits(points, facts(points), members, groups, seen, [], mixed)
    assert {doubt.place for doubt in found} == {0, 1}
    for doubt in found:
        assert 0 < doubt.likely[0] < 1
        sure = doubt.place in mixed
        assert doubt.wrong == (1 if sure else pytest.approx(1 - doubt.likely[0]))
    assert [doubt.place for doubt in found][: len(mixed)] == mixed


def test_the_smaller_of_two_is_asked_about_with_the_likeliest_first():
    likely = np.array([[0, 0.7, 0.9], [0.7, 0, 0.5], [0.9, 0.5, 0]])
    members = [np.arange(2), np.arange(2, 12), np.arange(12, 32)]
    small, middle = possible_merges(likely, members)
    assert (small.place, small.ones, small.likely) == (0, (2, 1), (0.9, 0.7))
    assert small.settles == pytest.approx(2)  # at most all of its tracks
    assert (middle.place, middle.ones) == (1, (2,))
    assert middle.settles == pytest.approx(0.5 * 10)
