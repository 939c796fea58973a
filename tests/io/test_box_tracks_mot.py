from __future__ import annotations

import numpy as np
import pytest

from castlist import InputError
from castlist.export.mot import mot_lines
from castlist.io.box_tracks import read_given
from tests.export.casts import made_timeline


def read(tmp_path, text):
    path = tmp_path / "tracks.txt"
    path.write_text(text, "utf-8")
    return read_given(path)


def test_boxes_by_track_and_frame_counted_from_zero(tmp_path):
    text = "\ufeff2,7,11,21,30,40,1,-1,-1,-1\n\n1,7,10.5,21,30,40\n1.0 9.0 1 1 5 5 0.5\n"
    given = read(tmp_path, text)
    assert given.longest_gap == 1.0
    assert given.tracks.ids.tolist() == ["7", "9"]
    assert given.tracks.frame.tolist() == [0, 1, 0]
    assert given.tracks.box.tolist() == [[9.5, 20, 30, 40], [10, 20, 30, 40], [0, 0, 5, 5]]


def test_what_castlist_wrote_comes_back(tmp_path):
    one = made_timeline(tmp_path / "film.cast")
    tracks = read(tmp_path, "".join(mot_lines(one))).tracks
    found = dict(zip(tracks.ids.tolist(), range(len(tracks)), strict=True))
    assert sorted(map(int, found)) == [1, 2, 3, 4, 5]
    for name, row in found.items():
        own = slice(*tracks.offsets[row : row + 2])
        there = slice(*one.tracks.offsets[int(name) - 1 : int(name) + 1])
        np.testing.assert_array_equal(tracks.frame[own], one.tracks.frame[there])
        np.testing.assert_allclose(tracks.box[own], one.tracks.box[there], atol=0.006)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "no tracks in the file"),
        ("frame,id,x,y,w,h\n", "line 1: expected frame,id,left"),
        ("1,1,5,5,9,9\n1,2,5\n", "line 2: expected"),
        ("1.5,1,5,5,9,9\n", "line 1: expected"),
        ("nan,1,5,5,9,9\n", "line 1: expected"),
        ("inf,1,5,5,9,9\n", "line 1: expected"),
        ("1,-1,5,5,9,9\n", "marks detections"),
        ("0,1,5,5,9,9\n", "no such frame"),
        ("1e300,1,5,5,9,9\n", "no such frame"),
        ("1,1,5,5,0,9\n", "no width or height"),
        ("1,1,5,nan,9,9\n", "no width or height"),
        ("1,1,5,5,9,9\n1,1,6,5,9,9\n", "track 1 has two boxes in frame 0"),
        ("1," * 20_000, "line 1: expected"),
    ],
)
def test_what_is_no_file_of_tracks(tmp_path, text, says):
    with pytest.raises(InputError, match=says):
        read(tmp_path, text)


def test_bytes_that_are_no_text(tmp_path):
    (tmp_path / "x.txt").write_bytes(b"1,1,\xff\xfe")
    with pytest.raises(InputError, match="cannot be read as text"):
        read_given(tmp_path / "x.txt")
    with pytest.raises(InputError, match="no such track file"):
        read_given(tmp_path / "none.txt")


def test_no_more_than_fits_into_memory(tmp_path, monkeypatch):
    monkeypatch.setattr("castlist.io.box_tracks._MAX_FACES", 2)
    with pytest.raises(InputError, match="more than 2 boxes"):
        read(tmp_path, "".join(f"{k},1,1,1,9,9\n" for k in range(1, 5)))
