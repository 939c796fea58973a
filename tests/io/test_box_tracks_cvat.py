from __future__ import annotations

import math

import numpy as np
import pytest

from castlist import InputError
from castlist.export.cvat import cvat_lines
from castlist.io.box_tracks import read_given
from tests.export.casts import made_timeline


def box(frame, x=10, outside=0, more=""):
    return (
        f'<box frame="{frame}" outside="{outside}" keyframe="1" xtl="{x}" ytl="5" '
        f'xbr="{x + 20}" ybr="30" {more}/>'
    )


def read(tmp_path, *tracks, head=""):
    path = tmp_path / "tracks.xml"
    body = "".join(f'<track id="{k}" label="Anna">{one}</track>' for k, one in enumerate(tracks))
    path.write_text(f"{head}<annotations><version>1.1</version>{body}</annotations>", "utf-8")
    return read_given(path)


def test_boxes_by_track_and_frame(tmp_path):
    given = read(tmp_path, box(3, 40) + box(0), box(7, 1.5) + '<points frame="1" points="1,1"/>')
    assert given.longest_gap == math.inf
    assert given.tracks.ids.tolist() == ["0", "1"]
    assert given.tracks.frame.tolist() == [0, 3, 7]
    assert given.tracks.box.tolist() == [[10, 5, 20, 25], [40, 5, 20, 25], [1.5, 5, 20, 25]]
    assert not given.tracks.labelled.any()  # who it is, is for castlist to find out


def test_outside_ends_a_track_and_the_box_holds_until_then(tmp_path):
    one = box(0) + box(10, 50, 1) + box(20, 60) + box(21, 60, 1) + box(30, 60, 1) + box(40)
    tracks = read(tmp_path, one).tracks
    assert tracks.ids.tolist() == ["0", "0.2", "0.3"]
    assert tracks.frame.tolist() == [0, 9, 20, 40]
    assert tracks.box[:2, 0].tolist() == [10, 10]


def test_what_castlist_wrote_comes_back(tmp_path):
    one = made_timeline(tmp_path / "film.cast", size=(1000, 800))
    path = tmp_path / "film.xml"
    path.write_text("".join(cvat_lines(one)), "utf-8")
    tracks = read_given(path).tracks
    for row, name in enumerate(tracks.ids.tolist()):
        own = slice(*tracks.offsets[row : row + 2])
        there = slice(*one.tracks.offsets[int(name) : int(name) + 2])
        np.testing.assert_array_equal(tracks.frame[own], one.tracks.frame[there])
        np.testing.assert_allclose(tracks.box[own], one.tracks.box[there], atol=0.011)
    assert len(tracks) == len(one.tracks)


LAUGHS = '<!DOCTYPE a [<!ENTITY l "ha"><!ENTITY m "&l;&l;&l;">]>'
OUTSIDE = '<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]>'


@pytest.mark.parametrize("head", [LAUGHS, OUTSIDE, '<!DOCTYPE a SYSTEM "http://x/y.dtd">'])
def test_document_types_are_refused(tmp_path, head):
    with pytest.raises(InputError, match="document type definitions are not supported"):
        read(tmp_path, box(1), head=head)


@pytest.mark.parametrize("encoding", ["foo", "shift_jis", "hex", "utf-16", "idna", "undefined"])
def test_encodings_that_cannot_be_read_are_refused(tmp_path, encoding):
    with pytest.raises(InputError, match=r"tracks\.xml: not whole XML"):
        read(tmp_path, box(1), head=f'<?xml version="1.0" encoding="{encoding}"?>')


@pytest.mark.parametrize(
    ("tracks", "says"),
    [
        ([], "no tracks of boxes"),
        (['<polygon frame="1" points="1,1"/>'], "no tracks of boxes"),
        (['<box frame="1"/>'], "track 0: a box without frame or corners"),
        ([box("x")], "a box without frame"),
        ([box(-1)], "no such frame"),
        ([box("9" * 30)], "no such frame"),
        ([box("9" * 5000)], "a box without frame"),
        ([box(1) + box(1)], "two boxes in frame 1"),
        ([box(1).replace('xbr="30"', 'xbr="9"')], "no width or height"),
        ([box(1).replace('xbr="30"', 'xbr="nan"')], "no width or height"),
        (["<unclosed>"], "not whole XML"),
        (["&nobody;"], "not whole XML"),
    ],
)
def test_what_is_no_file_of_tracks(tmp_path, tracks, says):
    with pytest.raises(InputError, match=says):
        read(tmp_path, *tracks)


def test_tracks_that_are_mixed_up(tmp_path):
    one = '<track id="1" {0}>' + box(1) + "</track>"
    for text, says in (
        (one * 2, "track 1 occurs twice"),
        (one.format('task_id="1"') + one.format('task_id="2"').replace('id="1"', 'id="2"', 1),
         "several tasks"),
    ):  # fmt: skip
        (tmp_path / "x.xml").write_text(f"<annotations>{text}</annotations>".replace("{0}", ""))
        with pytest.raises(InputError, match=says):
            read_given(tmp_path / "x.xml")


def test_pictures_of_a_task_are_no_tracks(tmp_path):
    (tmp_path / "x.xml").write_text(f'<annotations><image id="0">{box(1)}</image></annotations>')
    with pytest.raises(InputError, match="CVAT for video 1.1"):
        read_given(tmp_path / "x.xml")
