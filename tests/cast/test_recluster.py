from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from castlist import InputError
from castlist.cast.cast_file import RUN
from castlist.cast.corrections import Corrections
from castlist.cast.links import Links
from castlist.cast.log import ConflictError
from castlist.cast.recluster import accept, cluster_around, ids_of_clusters, propose
from castlist.cast.state import State
from castlist.cluster.tracks import cluster_points
from castlist.progress import silent
from datasets.synthetic_casts import THRESHOLD, made_video, points_of, write_folder
from tests.cast.test_corrections import people, shape, tracks_of


@pytest.fixture
def cast(tmp_path):
    with Corrections(write_folder(tmp_path / "film.cast", made_video())) as cast:
        yield cast


def test_without_corrections_nothing_changes(cast):
    assert propose(cast).changes == ()
    assert cast.last == 0


def links(cast):
    return Links.of(cast.state, np.empty((0, 2), np.int64))


def test_links_follow_the_last_correction(cast):
    rows = {name: int(cast.rows([name])[0]) for name in ("0000", "0002", "0004")}
    cast.answer(["0002"], [["0000"]])
    assert set(links(cast).must.ravel().tolist()) == set(cast.character(3).tracks.tolist())
    assert len(links(cast).cannot) == 0
    cast.answer(["0002"], [], [["0000"]])
    assert rows["0000"] not in links(cast).must
    assert [sorted(pair) for pair in links(cast).cannot.tolist()] == [[rows["0000"], rows["0002"]]]


def test_tracks_that_share_a_frame_are_kept_apart_unless_waived(cast):
    before = len(Links.of(cast.state, cast.overlaps).avoid)
    assert before == len(cast.overlaps)
    cast.merge([1, 2], waive=True)
    assert len(Links.of(cast.state, cast.overlaps).avoid) < before


def test_tracks_pinned_to_two_characters_are_kept_apart(cast):
    cast.name(1, "Anna")
    cast.background([3])
    owners = {tuple(sorted(cast.state.owner[pair].tolist())) for pair in links(cast).cannot}
    assert owners == {(1, 3)}


def test_corrections_hold_in_the_new_clustering(tmp_path):
    """A clustering that mixes two people and splits one; a word about each mends the rest."""
    tracks = made_video(people=3, each=6, noise=0.05)
    labels = np.unique(tracks.identity, return_inverse=True)[1]
    own = [np.flatnonzero(labels == k) for k in range(3)]
    bad = labels.copy()
    bad[own[1]] = 0  # two people in one
    bad[own[2][:3]] = 9  # one person in two
    cast = Corrections(write_folder(tmp_path / "film.cast", tracks, bad))
    ids = tracks.ids.tolist()
    cast.answer([ids[own[0][0]]], [], [[ids[own[1][0]]]])
    proposal = propose(cast)
    assert proposal.changes
    first = shape(cast)
    accept(cast, proposal)
    assert sorted(map(sorted, people(cast).values())) == [["p0"], ["p1"], ["p2"]]
    assert shape(Corrections(cast.folder)) == shape(cast)
    cast.undo()
    assert shape(cast) == first


def scanned_for(folder, **settings):
    """Make a cast folder as a scan with a number of characters leaves it."""
    tracks = made_video()
    made = cluster_points(
        points_of(tracks), THRESHOLD, avoid_link=tracks.overlaps(),
        n_clusters=settings.get("n_characters"), max_clusters=settings.get("max_characters"),
    )  # fmt: skip
    write_folder(folder, tracks, made.labels)
    run = json.loads((folder / RUN).read_text())
    run["settings"] |= settings
    (folder / RUN).write_text(json.dumps(run))
    return Corrections(folder)


@pytest.mark.parametrize("setting", ["n_characters", "max_characters"])
def test_the_number_of_the_scan_still_wins(tmp_path, setting):
    """Two people at a time are in the picture, and the scan was asked for one character."""
    cast = scanned_for(tmp_path / "film.cast", **{setting: 1})
    assert len(cast.cast.characters) == 1
    proposal = propose(cast)
    assert proposal.changes == ()
    assert proposal.n_characters == 1
    np.testing.assert_array_equal(proposal.given_up, cast.overlaps)


@pytest.mark.parametrize("setting", ["n_characters", "max_characters"])
def test_corrections_are_not_given_up_for_a_number_of_characters(tmp_path, setting):
    cast = scanned_for(tmp_path / "film.cast", **{setting: 2})
    assert len(propose(cast).given_up) == 0  # there are two at a time
    cast.move(["0000"])
    cast.move(["0002"])
    cast.name(3, "Bo")
    cast.name(4, "Cy")
    for number in (1, 2):
        cast.name(number, f"No {number}")
    with pytest.raises(InputError, match=r"for 2 characters, .* require at least 4; scan again"):
        propose(cast)
    cast.undo()
    cast.undo()
    assert {"Bo", "Cy"} <= set(propose(cast).names.values())


def test_merged_characters_reduce_the_number_that_is_possible(tmp_path):
    cast = scanned_for(tmp_path / "film.cast", n_characters=20)  # each track for itself
    cast.merge([1, 2], waive=True)
    with pytest.raises(InputError, match="for 20 characters, .* require at most 19; scan again"):
        propose(cast)


def test_named_characters_keep_name_and_number(cast):
    """Split off and named, and however often clustered again."""
    cast.move(["0000", "0004"])
    cast.name(5, "Anna")
    cast.name(3, "Bo")
    cast.move(["0008"], to=3)
    for _ in range(2):
        accept(cast, propose(cast))
        assert cast.character("Anna").number == 5
        assert cast.character("Bo").number == 3
        assert "0008" in tracks_of(cast, "Bo")
    assert propose(cast).changes == ()


@pytest.mark.parametrize("marked", [False, True])
def test_a_track_that_went_two_ways_changes_nobodys_number(cast, marked):
    """It had a character of its own before it came to another: neither is a new one now."""
    cast.move(["0000"])
    cast.name(5, "Bo")
    cast.move(["0000"], to=3)
    if marked:
        cast.not_face(["0000"])
    before = shape(cast)
    for _ in range(2):
        proposal = propose(cast)
        assert proposal.changes == ()
        assert "Bo" not in proposal.names.values()  # who was called so is nobody any more
        accept(cast, proposal)
        assert shape(cast) == before


def test_a_named_character_keeps_every_track_it_was_named_with(tmp_path):
    """Also those that the machine would put elsewhere: it may ask, and does not move them."""
    tracks = made_video(people=2, each=12, noise=0.05, pairs=False)
    labels = np.unique(tracks.identity, return_inverse=True)[1]
    bad = labels.copy()
    own = [np.flatnonzero(labels == k) for k in range(2)]
    bad[[*own[0][:4], *own[1][:3]]] = 5  # somebody of both
    cast = Corrections(write_folder(tmp_path / "film.cast", tracks, bad))
    number = int(cast.state.owner[own[0][0]])
    before = set(tracks_of(cast, number))
    cast.name(number, "Anna")
    accept(cast, propose(cast))
    assert cast.character("Anna").number == number
    assert before <= set(tracks_of(cast, "Anna"))


def test_a_cast_that_changed_since_is_not_overwritten(cast):
    proposal = propose(cast)
    cast.name(1, "Anna")
    with pytest.raises(ConflictError):
        accept(cast, proposal)


def test_a_clustering_of_another_scan_is_refused(cast):
    cast.move(["0000"], to=3)
    accept(cast, propose(cast))
    late = propose(cast)
    write_folder(cast.folder, made_video(each=3, prefix="new"))
    now = Corrections(cast.folder)
    assert len(now.state.owner) == len(now.tracks) == 12
    assert "new0000" in tracks_of(now, 3)  # what was said holds all the same
    with pytest.raises(ConflictError, match="scanned again"):
        accept(now, late)


def test_a_cast_without_faces(cast):
    cast.not_face(cast.tracks.ids.tolist())
    assert propose(cast).changes == ()


@pytest.mark.parametrize(("most", "kept"), [(3, False), (4, False), (5, True)])
def test_a_number_goes_with_more_than_half_of_a_character(tmp_path, most, kept):
    """Two people in one, and a stray that a person moved there: of 8 tracks, 4 are no majority."""
    tracks = made_video(people=3, each=5, noise=0.05, pairs=False)
    person = np.unique(tracks.identity, return_inverse=True)[1]
    own = [np.flatnonzero(person == k) for k in range(3)]
    left_out = [*own[0][most:], *own[1][3:]]
    labels = np.where(person == 2, 2, 1)
    labels[left_out] = np.arange(10, 10 + len(left_out))
    cast = Corrections(write_folder(tmp_path / "film.cast", tracks, labels))
    for row in left_out:
        cast.not_face([str(tracks.ids[row])])
    mixed = int(cast.state.owner[own[0][0]])
    cast.move([str(tracks.ids[own[2][0]])], to=mixed)
    labels = propose(cast).labels
    assert len(set(labels[own[0][:most]])) == 1
    assert (labels[own[0][0]] == mixed) == kept
    assert mixed not in labels[own[1][:3]]


def test_two_people_of_a_frame_do_not_share_a_number(tmp_path):
    """0005, of the second person, was moved to the first, and takes the rest of its own along.

    Most of the first character has no corrections and would keep the number, too.
    """
    tracks = made_video(people=2, each=3, noise=0.05)  # 0000 with 0001, 0002 with 0003
    tracks = tracks[tracks.ids != "0004"]
    folder = write_folder(tmp_path / "film.cast", tracks, [1, 2, 1, 2, 3])
    with Corrections(folder) as cast:
        first, last = (int(cast.state.owner[row]) for row in (0, 4))
        cast.move(["0005"], to=first)
        labels = propose(cast).labels
        assert labels[[1, 3]].tolist() == [first, first]
        assert labels[0] == labels[2]
        assert labels[0] not in (first, last)


def random_cast(rng):
    """Return what was said of some tracks, which share a frame, and who they are."""
    n = int(rng.integers(4, 13))
    person, base, put = rng.integers(0, 3, (3, n))
    state = State.of(1 + base)
    pinned = rng.random(n) < 0.4
    state.pin[pinned] = 1 + put[pinned]
    state.not_face[rng.random(n) < 0.1] = True

    def pairs(most):
        drawn = np.sort(rng.integers(0, n, (int(rng.integers(0, most)), 2)), axis=1)
        return np.unique(drawn[drawn[:, 0] < drawn[:, 1]], axis=0)

    state.different = [(np.array([i]), np.array([j])) for i, j in pairs(3).tolist()]
    state.waived = {(i, j) for i, j in pairs(2).tolist()}
    return state, pairs(n), person


@pytest.mark.parametrize("seed", range(4))
def test_clustering_puts_no_two_tracks_of_a_frame_together(seed):
    """Nor two that were called different, but where a person put both of them."""
    rng = np.random.default_rng(seed)
    for _ in range(100):
        check_kept_apart(*random_cast(rng))


def check_kept_apart(state, overlaps, person):
    owner, pin = state.owner, state.pin
    links = Links.around(state, overlaps, owner, lambda rows: person[rows])
    points = np.eye(4)[person[links.rows]]
    made = cluster_around(Path(), points, THRESHOLD, {}, links.among(), silent)[0]
    given = ids_of_clusters(links, made, pin, owner, state.corrected_ids(), lambda count: 100)[0]
    ids = np.where(state.not_face, 0, owner)
    ids[links.rows] = np.where(pin[links.rows] > 0, pin[links.rows], given)
    apart = {*map(tuple, overlaps.tolist())} - state.waived
    apart |= {(int(a[0]), int(b[0])) for a, b in state.different if owner[a[0]] != owner[b[0]]}
    for i, j in apart:
        if ids[i] and ids[j] and not (pin[i] and pin[j]):
            assert ids[i] != ids[j], (i, j)
    for cluster in np.unique(made):  # nobody else is taken apart
        assert len(set(given[made == cluster])) <= 2
