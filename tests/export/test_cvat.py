"""By CVAT's own description of its XML 1.1; its importers are too heavy to install for a test."""

from __future__ import annotations

from xml.etree import ElementTree

import numpy as np
import pytest

from castlist.export.cvat import cvat_lines
from tests.export.casts import AWKWARD, made_timeline, nobody


def read(one):
    return ElementTree.fromstring("".join(cvat_lines(one)))


def test_tracks_are_tracks_labelled_by_character(tmp_path):
    one = made_timeline(tmp_path / "film.cast")
    root = read(one)
    assert root.tag == "annotations"
    assert root.findtext("version") == "1.1"
    task = root.find("meta/task")
    assert task.findtext("name") == one.video
    assert task.findtext("mode") == "interpolation"
    assert task.findtext("size") == str(round(661.6 * 25))
    assert task.findtext("stop_frame") == str(round(661.6 * 25) - 1)
    assert task.findtext("original_size/width") == "640"
    labels = [label.findtext("name") for label in task.iterfind("labels/label")]
    assert labels == ["Character 1", AWKWARD]
    tracks = root.findall("track")
    assert [t.get("label") for t in tracks] == ["Character 1"] * 2 + [AWKWARD] * 3
    assert len({t.get("id") for t in tracks}) == 5


@pytest.mark.parametrize("rate", [25.0, 5.0])
def test_boxes_are_where_faces_are_and_end_after_the_last(tmp_path, rate):
    one = made_timeline(tmp_path / "film.cast", rate)
    for track in read(one).iterfind("track"):
        row = int(track.get("id"))
        faces = slice(one.tracks.offsets[row], one.tracks.offsets[row + 1])
        *boxes, last = track.findall("box")
        ends = rate > 5 or one.tracks.time[faces][-1] < 661
        if not ends:  # its last face is in the last frame of the video
            boxes.append(last)
        assert [int(b.get("frame")) for b in boxes] == one.tracks.frame[faces].tolist()
        assert {b.get("outside") for b in boxes} == {"0"}
        assert {b.get("keyframe") for b in track} == {"1"}
        if ends:
            assert last.get("outside") == "1"
            assert int(last.get("frame")) == one.tracks.frame[faces][-1] + 1
        corners = np.array([[float(b.get(k)) for k in ("xtl", "ytl", "xbr", "ybr")] for b in boxes])
        x, y, w, h = one.tracks.box[faces].T
        right = np.minimum(x + w, 640)  # a box does not reach out of the picture
        np.testing.assert_allclose(corners, np.stack([x, y, right, y + h], axis=1), atol=0.01)


@pytest.mark.parametrize("rate", [23.976, 29.97, 59.94])
def test_frames_are_counted_at_the_exact_rate(tmp_path, rate):
    task = read(made_timeline(tmp_path / "film.cast", rate)).find("meta/task")
    assert int(task.findtext("stop_frame")) == round(661.6 * round(rate) * 1000 / 1001) - 1


def test_nobody(tmp_path):
    root = read(nobody(tmp_path / "film.cast"))
    assert root.find("track") is None
    assert root.find("meta/task/labels") is not None
