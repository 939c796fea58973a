"""What was said of a track that was lost and then called the same as another."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from castlist import InputError, TrackSet
from castlist.cast.corrections import Corrections
from datasets.synthetic_casts import made_video, write_folder
from tests.cast import test_rescan


@pytest.fixture
def cast(tmp_path):
    with Corrections(write_folder(tmp_path / "film.cast", made_video())) as cast:
        yield cast


def scan_again(cast, tracks):
    write_folder(cast.folder, tracks)
    cast.refresh()


def swapped(other):
    """Return a scan in which the first person and another have changed places."""
    tracks = test_rescan.swapped(made_video(), "p0", other)
    return dataclasses.replace(tracks, ids=np.char.add(f"{other}-", tracks.ids))


def lost(cast):
    return {one.anchor.track: one.number for one in cast.lost}


def pinned(cast):
    """Return the tracks that a person assigned to a character, of whom there is one."""
    return cast.tracks.ids[cast.state.pin > 0].tolist()


def test_a_track_that_is_there_again_is_itself(cast):
    """It was lost and called the same as another, and now it is back: so is what was said of it."""
    cast.name(1, "Anna")
    scan_again(cast, swapped("p2"))
    cast.found(lost(cast)["0000"], "p2-new0001")  # of a person who is there in both scans
    scan_again(cast, made_video())
    assert pinned(cast) == ["0000", "0004", "0008", "0012", "0016"]
    cast.not_face(["0000"])
    assert cast.tracks.ids[cast.state.not_face].tolist() == ["0000"]


def test_what_was_said_follows_a_track_through_every_scan(cast):
    """Each shows another face in its place, and each time a person says that it is the same."""
    cast.name(1, "Anna")
    for other in ("p2", "p3"):
        scan_again(cast, swapped(other))
        number = min(one.number for one in cast.lost)
        cast.found(number, f"{other}-new0000")
        assert pinned(cast) == [f"{other}-new0000"]
    scan_again(cast, swapped("p2"))
    assert pinned(cast) == ["p2-new0000"]
    cast.not_face(["p2-new0000"])
    scan_again(
        cast, made_video()
    )  # what was said of the other holds for it too: it is the same track
    assert cast.tracks.ids[cast.state.not_face].tolist() == ["0000"]
    assert not cast.lost


def test_a_track_that_is_lost_once_more_is_listed_with_what_was_said(cast):
    cast.name(1, "Anna")
    scan_again(cast, swapped("p2"))
    cast.found(lost(cast)["0000"], "p2-new0000")
    scan_again(cast, swapped("p3"))
    assert {one.event.kind for one in cast.lost} == {"name"}
    assert sorted(lost(cast)) == ["0000", "0004", "0008", "0012", "0016"]


def test_a_lost_track_that_is_identified_is_cut_as_it_was(cast):
    cast.cut("0000", 1.0)
    scan_again(cast, swapped("p2"))
    assert sorted(lost(cast)) == ["0000", "0000a", "0000b"]
    cast.found(lost(cast)["0000"], "p2-new0000")
    assert {"p2-new0000a", "p2-new0000b"} <= set(cast.tracks.ids.tolist())
    cast.undo()
    assert "p2-new0000" in cast.tracks.ids.tolist()


LONG = 56.6  # seconds


def long_track(spans, who, prefix=""):
    """Return a face in one place, in one track per span, and who is seen in each."""
    times = [np.arange(begin, end - 0.01, 0.2) for begin, end in spans]
    faces = np.repeat(np.arange(len(spans)), [len(time) for time in times])
    return TrackSet.from_faces(
        [f"{prefix}{k}" for k in faces], time=np.concatenate(times),
        frame=(25 * np.concatenate(times)).round(), box=[[200, 60, 90, 90]] * len(faces),
        feature=np.eye(16, dtype=np.float32)[np.array(who)[faces]], video="film.mp4",
        describer="SFace",
    )  # fmt: skip


def test_a_lost_track_that_is_another_one_now_is_no_longer_listed(cast):
    """Somebody else is in its place, of whom nothing was said."""
    cast.not_face(["0000"])
    scan_again(cast, swapped("p2"))
    cast.found(lost(cast)["0000"], "p2-new0001")
    assert not cast.lost
    with pytest.raises(InputError, match="no lost track"):
        cast.found(1, "p2-new0002")


@pytest.fixture
def long(tmp_path):
    """A cast of one long track, named Anna."""
    folder = write_folder(tmp_path / "long.cast", long_track([(0, LONG)], [0]))
    with Corrections(folder) as cast:
        cast.name(1, "Anna")
        yield cast


@pytest.mark.parametrize("at", [51.0, 0.4, 30.2, 56.4])
def test_both_pieces_of_a_long_track_keep_its_name(long, at):
    scan_again(long, long_track([(0, at), (at, LONG)], [0, 0], "piece"))
    assert pinned(long) == ["piece0", "piece1"]
    assert not long.lost


def test_a_piece_that_shows_another_face_is_listed_and_can_be_added(long):
    scan_again(long, long_track([(0, 51), (51, LONG)], [0, 1], "piece"))
    assert pinned(long) == ["piece0"]
    (track,) = long.lost
    assert (track.partly, long.tracks.ids[track.there].tolist()) == (True, ["piece1"])
    long.found(track.number, "piece1")
    assert pinned(long) == ["piece0", "piece1"]
    assert not long.lost
    long.undo()
    long.name(2, "Bo")  # said of the piece, which has no need of what was said of the whole
    assert not long.lost
