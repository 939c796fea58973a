"""A video that is scanned again: corrections hold, ids stay, and faces are compared."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest

from castlist import InputError, TrackSet
from castlist.cast.cast_file import RUN
from castlist.cast.corrections import Corrections
from castlist.cast.folder import CAST, NEXT_CAST
from castlist.cast.recluster import accept, propose
from datasets.synthetic_casts import made_video, write_folder
from tests.cast.test_corrections import people, tracks_of


@pytest.fixture
def cast(tmp_path):
    with Corrections(write_folder(tmp_path / "film.cast", made_video())) as cast:
        yield cast


def swapped(tracks: TrackSet, one: str, other: str) -> TrackSet:
    """Let two people change places: boxes and times stay, faces are the other's."""
    order = np.arange(len(tracks))
    a, b = (np.flatnonzero(tracks.identity == who) for who in (one, other))
    order[a], order[b] = b, a
    means = tracks.mean_features()[order]
    faces = np.repeat(means, tracks.face_counts, axis=0)
    again = TrackSet.from_faces(
        np.repeat(tracks.ids, tracks.face_counts), feature=faces, time=tracks.time,
        frame=tracks.frame, box=tracks.box, describer=tracks.describer,
        identity=np.repeat(tracks.identity[order], tracks.face_counts), video="film.mp4",
    )  # fmt: skip
    return dataclasses.replace(again, ids=np.char.add("new", again.ids))


def test_ids_of_uncorrected_characters_stay(cast):
    before = people(cast)
    write_folder(cast.folder, made_video(rate=4, prefix="y"))
    cast.refresh()
    assert people(cast) == before
    write_folder(cast.folder, made_video(each=3, rate=4, prefix="z"))
    cast.refresh()
    assert people(cast) == before


def test_ids_stay_where_a_scan_was_killed_as_it_took_the_place_of_another(cast):
    before, earlier = people(cast), (cast.folder / CAST).read_bytes()
    tracks = made_video(rate=4, prefix="y")
    write_folder(cast.folder, tracks)
    (cast.folder / CAST).rename(cast.folder / NEXT_CAST)  # written before all else
    (cast.folder / CAST).write_bytes(earlier)  # not replaced yet: it is not of these tracks
    with pytest.raises(InputError, match="another scan"):
        Corrections(cast.folder)
    write_folder(cast.folder, tracks)
    cast.refresh()
    assert people(cast) == before


def test_different_tracks_stay_apart_whatever_their_rows_are(cast):
    cast.answer(["0000"], [], [["0008"]])  # they look the same
    number = int(cast.state.pin[cast.rows(["0008"])[0]])
    assert number == 5  # the first id that was free; row 0 is not taken for it
    write_folder(cast.folder, made_video(rate=4))
    cast.refresh()
    assert cast.state.owner[cast.rows(["0008"])[0]] == number
    assert cast.state.owner[cast.rows(["0000"])[0]] != number


def test_other_settings_apply_after_an_accepted_clustering(cast, monkeypatch):
    """The tracks are the same, so that the clustering would fit them."""
    accept(cast, propose(cast))
    assert len(cast.cast.characters) == 4
    monkeypatch.setattr("datasets.synthetic_casts.THRESHOLD", 1e-9)
    write_folder(cast.folder, cast.tracks)
    cast.refresh()
    assert len(cast.cast.characters) == len(cast.tracks)


def test_names_do_not_land_on_other_faces(cast):
    """Another cut: where Anna was is Bo now. Her name is not put on him, and it is said."""
    cast.name(1, "Anna")
    cast.name(3, "Bo")
    cast.move(["0001"], to=4, waive=True)
    write_folder(cast.folder, swapped(made_video(), "p0", "p2"))
    cast.refresh()
    assert "Anna" not in {one.name for one in cast.cast.characters}
    assert "new0001" in tracks_of(cast, 4)  # this face is where it was
    lost = cast.lost
    assert {one.event.kind for one in lost} == {"name"}
    assert all(len(one.there) == 1 for one in lost)
    assert len(lost) == 10


def test_a_lost_track_can_be_identified(cast):
    cast.name(1, "Anna")
    write_folder(cast.folder, swapped(made_video(), "p0", "p2"))
    cast.refresh()
    lost = cast.lost[0]
    track = str(cast.tracks.ids[lost.there[0]])
    before = int(cast.state.owner[lost.there[0]])
    cast.found(lost.number, track)
    assert tracks_of(cast, "Anna") == [track]
    assert lost.number not in {one.number for one in cast.lost}
    assert tracks_of(Corrections(cast.folder), "Anna") == [track]
    cast.undo()
    assert int(cast.state.owner[lost.there[0]]) == before
    with pytest.raises(InputError, match="no lost track has the number 99"):
        cast.found(99, track)


def test_undo_after_a_scan_restores_the_earlier_characters(cast):
    """Tracks that were merged are who they were before, by their old ids."""
    before = people(cast)
    cast.merge([2, 4], name="Bo")
    cast.name(1, "Anna")
    write_folder(cast.folder, made_video(rate=3, prefix="new"), rate=3)
    cast.refresh()
    assert people(cast)[2] == {"p1", "p3"}
    cast.undo()
    cast.undo()
    assert people(cast) == before
    assert "Bo" not in {one.name for one in cast.cast.characters}
    cast.redo()
    assert people(cast)[2] == {"p1", "p3"}


def test_corrections_of_an_old_scan_apply_to_the_new_one(cast):
    """A page that was open said it while the scan was at work."""
    late = Corrections(cast.folder)
    write_folder(cast.folder, made_video(rate=4, prefix="new"))
    words = late.log.last
    late.log.append("name", late_name(late), words)
    cast.refresh()
    assert {str(t) for t in cast.tracks.ids[cast.character("Anna").tracks]} == {
        "new0000", "new0004", "new0008", "new0012", "new0016",
    }  # fmt: skip


def late_name(cast):
    from castlist.cast.events import Edit, Named, Pinned

    rows = cast.character(1).tracks
    return Edit(
        pins=(Pinned(id=1, tracks=cast.anchor_numbers(rows)),), names=(Named(id=1, name="Anna"),)
    )


def test_a_log_without_its_cast_is_applied_to_the_next_scan(cast):
    cast.name(1, "Anna")
    cast.move(["0002"])
    (cast.folder / "cast.json").write_text("{")
    write_folder(cast.folder, made_video(rate=4, prefix="new"))
    now = Corrections(cast.folder)
    assert people(now)[now.character("Anna").number] == {"p0"}
    assert tracks_of(now, 5) == ["new0002"]


@pytest.mark.parametrize("size", [(1920, 1080), (320, 180), (1600, 1080)])
def test_the_same_video_in_another_resolution_keeps_every_correction(cast, size):
    """A proxy and its master, also if one of them has other pixels than square ones."""
    cast.name(1, "Anna")
    cast.move(["0002"])
    cast.cut("0003", 4.0)
    expected, pins = people(cast), cast.state.pin
    tracks = made_video(rate=4, prefix="master")
    box = tracks.box * np.array([size[0] / 640, size[1] / 360] * 2, np.float32)
    write_folder(cast.folder, dataclasses.replace(tracks, box=box), size=size)
    cast.refresh()
    assert cast.lost == []
    assert people(cast) == expected
    assert cast.state.pin.tolist() == pins.tolist()


def test_corrections_of_a_video_whose_frame_size_is_not_known_are_found_by_pixels(cast):
    run = cast.folder / RUN
    about = json.loads(run.read_text("utf-8"))
    about["video"].pop("size")
    run.write_text(json.dumps(about), "utf-8")
    with Corrections(cast.folder) as now:
        now.name(1, "Anna")
        write_folder(now.folder, made_video(rate=4, prefix="new"))
        now.refresh()
        assert now.lost == []
