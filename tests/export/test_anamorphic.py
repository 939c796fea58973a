"""Boxes of anamorphic video, by what OpenCV decodes: stored pixels, turned upright."""

from __future__ import annotations

from fractions import Fraction
from xml.etree import ElementTree

import cv2
import numpy as np
import pytest

from castlist.export.timeline import timelines
from castlist.export.write import FORMATS, To, export_cast
from castlist.geometry import pixel_scale
from castlist.io.box_tracks import read_given
from castlist.io.truth import read_truth
from castlist.pipeline.run_manifest import RunManifest
from castlist.pipeline.scan_settings import ScanSettings
from castlist.video.external_tracks import ExternalBoxes
from castlist.video.frames import open_video
from datasets.small_videos import orient, write_video
from tests.export.casts import made_cast, note_video

#: Where made_cast() puts a face, in 640 x 360 square pixels; stored are 640 x 512, as of PAL.
SHOWN, STORED = (300, 20, 80, 90), (300, 20 * 512 / 360, 80, 128)


@pytest.fixture(params=["wide", "wide and turned", "square"])
def cast(request, tmp_path):
    """Make a video with a white rectangle for a face, and a cast of it."""
    height = 360 if request.param == "square" else 512
    image = np.zeros((height, 640, 3), np.uint8)
    x, y, w, h = SHOWN if height == 360 else (round(side) for side in STORED)
    image[y : y + h, x : x + w] = 255
    aspect = Fraction(1) if height == 360 else Fraction(64, 45)
    path = tmp_path / "v.mp4"
    if request.param == "wide and turned":
        write_video(path, [np.ascontiguousarray(np.rot90(image))] * 12, aspect=1 / aspect)
        orient(path, (0, 1, -1, 0))  # a quarter turn clockwise
    else:
        write_video(path, [image] * 12, aspect=aspect)
    made = made_cast(tmp_path / "v.cast", video="v.mp4", spans=[(0.0, 0.4, 1)], duration=0.48)
    with open_video(path) as video:
        about = RunManifest.open(tmp_path, video, ScanSettings()).content["video"]
    note_video(made.folder, size=about["size"], stored_size=about["stored_size"])
    with type(made)(made.folder) as corrections:
        yield corrections, path


def rectangle(path):
    """Return the white rectangle of the first frame, as OpenCV decodes it."""
    _, image = cv2.VideoCapture(str(path)).read()
    rows, columns = np.nonzero(image[:, :, 0] > 128)
    left, top = columns.min(), rows.min()
    return image.shape[1::-1], (left, top, columns.max() + 1 - left, rows.max() + 1 - top)


def written(cast, to, tmp_path):
    """Write a cast; return the first box of the file, and the file."""
    (path,) = export_cast(cast, to, tmp_path / f"out{FORMATS[to].suffix}")
    if to == To.TRUTH:
        return read_truth(path).box[0], path
    if to == To.MOT:
        x, y, w, h = (float(word) for word in path.read_text().split(",")[2:6])
        return (x - 1, y - 1, w, h), path
    box = ElementTree.parse(path).find("track/box")
    left, top, right, bottom = (float(box.get(side)) for side in ("xtl", "ytl", "xbr", "ybr"))
    return (left, top, right - left, bottom - top), path


@pytest.mark.parametrize("to", [To.CVAT, To.MOT, To.TRUTH])
def test_boxes_are_where_other_tools_see_the_face(cast, tmp_path, to):
    corrections, video = cast
    size, seen = rectangle(video)
    box, path = written(corrections, to, tmp_path)
    np.testing.assert_allclose(box, seen, atol=2)
    if to == To.CVAT:
        found = ElementTree.parse(path).find("meta/task/original_size")
        assert (int(found.findtext("width")), int(found.findtext("height"))) == size


@pytest.mark.parametrize("to", [To.CVAT, To.MOT])
def test_tracks_come_back_in_the_pixels_that_are_shown(cast, tmp_path, to):
    corrections, path = cast
    _, file = written(corrections, to, tmp_path)
    with open_video(path) as video:
        boxes = ExternalBoxes(read_given(file), video)
        assert video.size == (640, 360)
    tracks = corrections.tracks
    for frame, box in zip(tracks.frame.tolist(), tracks.box, strict=True):
        np.testing.assert_allclose(boxes.at(frame)[0], box, atol=0.02)


def test_truth_comes_back_in_the_pixels_that_are_shown(cast, tmp_path):
    corrections, _ = cast
    _, path = written(corrections, To.TRUTH, tmp_path)
    (line,) = timelines(corrections)
    truth = read_truth(path, pixel_scale(line.size, line.stored_size))
    np.testing.assert_allclose(truth.box, corrections.tracks.box, atol=0.02)
