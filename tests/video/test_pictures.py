from __future__ import annotations

import json

import cv2
import numpy as np
import pytest

from castlist.io.pictures import (
    COVERS,
    Cover,
    frame_of,
    picture_counts,
    pictures_of,
    read_covers,
    write_covers,
)
from castlist.video.pictures import Picture, as_jpeg, frame_view, share_of, write_pictures

BOX = (0.25, 0.5, 0.125, 0.25)


def made(*levels: int) -> list[Picture]:
    return [
        Picture(as_jpeg(np.full((9, 9, 3), n, np.uint8)), b"frame of %d" % n, Cover(0.5, 1.0, BOX))
        for n in levels
    ]


def level(path) -> int:
    return round(float(cv2.imread(str(path)).mean()))


def test_the_best_comes_first_with_its_frame(tmp_path):
    write_pictures(tmp_path, "a_b", made(10, 60, 110, 160))
    assert [level(path) for path in pictures_of(tmp_path, "a_b")] == [10, 60, 110]
    assert frame_of(tmp_path, "a_b").read_bytes() == b"frame of 10"
    write_pictures(tmp_path, "a_b", made(200))  # after a run that was cut off
    assert [level(path) for path in pictures_of(tmp_path, "a_b")] == [200]
    assert frame_of(tmp_path, "a_b").read_bytes() == b"frame of 200"


def test_only_pictures_of_faces_are_counted(tmp_path):
    write_pictures(tmp_path, "00001", made(10, 60))
    write_pictures(tmp_path, "x_1", made(10))
    write_covers(tmp_path, {})
    for name in (".00002_0.jpg.part", "Thumbs.db", "a_b.jpg", "00003_0.png"):
        (tmp_path / name).touch()
    assert picture_counts(tmp_path) == {"00001": 2, "x_1": 1}
    assert picture_counts(tmp_path / "none") == {}


@pytest.mark.parametrize(
    ("size", "shown"), [((1080, 1920), (270, 480)), ((240, 320), (240, 320)), ((1, 4000), (1, 480))]
)
def test_a_frame_is_small_and_whole(size, shown):
    image = np.zeros((*size, 3), np.uint8)
    image[:, size[1] // 2 :] = 255
    seen = cv2.imdecode(np.frombuffer(frame_view(image), np.uint8), cv2.IMREAD_GRAYSCALE)
    assert seen.shape == shown
    assert seen[:, : shown[1] // 2 - 8].max() < 30
    assert seen[:, shown[1] // 2 + 8 :].min() > 225


def test_a_box_is_a_share_of_its_frame():
    image = np.zeros((100, 200, 3), np.uint8)
    assert share_of(image, np.array([50, 50, 25, 25])) == BOX
    assert share_of(image, np.array([-50, 80, 100, 40])) == pytest.approx((0, 0.8, 0.25, 0.2))


def test_covers_are_read_again(tmp_path):
    covers = {"00001": Cover(0.25, 61.5, BOX), "é": Cover(0.0, 0.0, (0.0, 0.0, 1.0, 1.0))}
    write_covers(tmp_path, covers)
    assert read_covers(tmp_path) == covers


@pytest.mark.parametrize(
    "text",
    ["", "[]", "3", "{", "[" * 100_000, '{"a": 3, "b": null, "c": [1]}',
     '{"a": {"quality": 1, "time": 1}}', '{"a": {"quality": 1, "time": 1, "box": [1, 2, 3]}}',
     '{"a": {"quality": NaN, "time": 1, "box": [0, 0, 1, 1]}}',
     '{"a": {"quality": "x", "time": 1, "box": [0, 0, 1, 1]}}',
     '{"a": {"quality": 1%s, "time": 1, "box": [0, 0, 1, 1]}}' % ("0" * 400),
     '{"a": {"quality": 1, "time": 1, "box": [[0], 0, 1, 1]}}'],
)  # fmt: skip
def test_of_damaged_covers_nothing_is_known(tmp_path, text):
    (tmp_path / COVERS).write_text(text)
    assert read_covers(tmp_path) == {}
    assert read_covers(tmp_path / "none") == {}


def test_what_is_whole_is_taken_and_stays_inside(tmp_path):
    far = {"quality": 0.5, "time": 2, "box": [-3, 0.5, 9, 1e300]}
    (tmp_path / COVERS).write_text(json.dumps({"a": far, "b": 7}))
    assert read_covers(tmp_path) == {"a": Cover(0.5, 2.0, (0.0, 0.5, 1.0, 1.0))}
