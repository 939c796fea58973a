from __future__ import annotations

import motmetrics
import numpy as np
import pytest

from castlist.export.mot import By, mot_lines
from castlist.export.timeline import timelines
from tests.export.casts import made_cast, made_timeline, nobody


def read(tmp_path, one, by=By.TRACK):
    path = tmp_path / "gt.txt"
    path.write_text("".join(mot_lines(one, by)))
    return motmetrics.io.loadtxt(path, fmt="mot15-2D").reset_index()


def test_a_line_a_face_counted_from_one(tmp_path):
    one = made_timeline(tmp_path / "film.cast")
    table = read(tmp_path, one)
    faces = one.tracks
    assert len(table) == faces.n_faces
    order = np.lexsort((faces.track_of_face, faces.frame))
    assert table.FrameId.tolist() == (faces.frame[order] + 1).tolist()
    assert table.Id.tolist() == (faces.track_of_face[order] + 1).tolist()
    found = table[["X", "Y", "Width", "Height"]]  # the reader takes 1 from X and Y
    np.testing.assert_allclose(found, faces.box[order], atol=0.006)
    assert table.Confidence.between(0, 1).all()


def test_by_character(tmp_path):
    one = made_timeline(tmp_path / "film.cast")
    table = read(tmp_path, one, By.CHARACTER)
    owner = {t: p.character.number for p in one.people for t in p.tracks.tolist()}
    expected = sorted(owner[t] for t in one.tracks.track_of_face.tolist())
    assert sorted(table.Id) == expected


def test_who_is_there_twice_has_the_larger_box(tmp_path):
    cast = made_cast(tmp_path / "film.cast", spans=[(0.0, 1.0, 0), (0.0, 1.0, 1)])
    cast.merge([1, 2], waive=True)
    (one,) = timelines(cast)
    one.tracks.box[one.tracks.track_of_face == 1, 2:] = 100
    assert len(read(tmp_path, one, By.TRACK)) == 12
    table = read(tmp_path, one, By.CHARACTER)
    assert len(table) == 6
    assert (table.Width == 100).all()


def test_a_frame_not_known_is_found_by_its_time(tmp_path):
    one = made_timeline(tmp_path / "film.cast", 29.97)
    before = list(mot_lines(one))
    one.tracks.frame[:] = -1
    assert list(mot_lines(one)) == before


def test_nobody(tmp_path):
    assert list(mot_lines(nobody(tmp_path / "film.cast"))) == []


@pytest.mark.parametrize("by", list(By))
def test_what_is_no_face_has_no_line(tmp_path, by):
    cast = made_cast(tmp_path / "film.cast")
    cast.not_face(["00001"])
    (one,) = timelines(cast)
    assert len(read(tmp_path, one, by)) == one.tracks.n_faces - 11
