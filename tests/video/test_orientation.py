from __future__ import annotations

import av
import numpy as np
import PIL.Image
import pytest

from castlist.video.frames import open_video
from castlist.video.orientation import orientation_of_matrix
from datasets.small_videos import orient, write_video

#: Display matrices (a, b, c, d), and how each turns a stored picture, worked by hand.
EIGHT = {
    (1, 0, 0, 1): lambda image: image,
    (-1, 0, 0, 1): lambda image: image[:, ::-1],
    (1, 0, 0, -1): lambda image: image[::-1],
    (-1, 0, 0, -1): lambda image: image[::-1, ::-1],
    (0, 1, -1, 0): lambda image: np.rot90(image, -1),
    (0, -1, 1, 0): lambda image: np.rot90(image, 1),
    (0, 1, 1, 0): lambda image: image.swapaxes(0, 1),
    (0, -1, -1, 0): lambda image: np.rot90(image, 2).swapaxes(0, 1),
}
#: What FFmpeg inserts for them (ffmpeg_filter.c).
FILTERS = {
    (1, 0, 0, 1): "null", (-1, 0, 0, 1): "hflip", (1, 0, 0, -1): "vflip",
    (-1, 0, 0, -1): "hflip vflip", (0, 1, -1, 0): "transpose=clock",
    (0, -1, 1, 0): "transpose=cclock", (0, 1, 1, 0): "transpose=cclock_flip",
    (0, -1, -1, 0): "transpose=clock_flip",
}  # fmt: skip


def asymmetric() -> np.ndarray:
    """Return a picture that differs from itself in every other orientation."""
    rows, columns = np.mgrid[:48, :64].astype(np.uint8)
    return np.dstack([3 * columns, 4 * rows, 255 - 3 * columns])


def pictures(path):
    with open_video(path) as video:
        frame = next(video.frames())
        return video.size, frame.image(), frame.yuv_image()


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    return write_video(tmp_path_factory.mktemp("stored") / "v.mp4", [asymmetric()] * 2)


@pytest.mark.parametrize("matrix", EIGHT)
def test_pictures_are_shown_as_worked_by_hand(stored, tmp_path, matrix):
    path = tmp_path / "v.mp4"
    path.write_bytes(stored.read_bytes())
    size, image, planes = pictures(orient(path, matrix))
    _, plain, plain_planes = pictures(stored)
    turn = EIGHT[matrix]
    np.testing.assert_array_equal(image, turn(plain))
    np.testing.assert_array_equal(planes, turn(plain_planes))
    assert size == turn(plain).shape[1::-1]


@pytest.mark.parametrize("matrix", EIGHT)
def test_the_filters_of_ffmpeg_do_the_same(matrix):
    image = asymmetric()
    graph = av.filter.Graph()
    last = graph.add_buffer(width=64, height=48, format="bgr24", time_base="1/25")
    for words in FILTERS[matrix].split():
        step = graph.add(*words.split("="))
        last.link_to(step)
        last = step
    last.link_to(graph.add("buffersink"))
    graph.configure()
    graph.push(av.VideoFrame.from_ndarray(image, "bgr24"))
    a, b, c, d = matrix
    shown = orientation_of_matrix([a, b, 0, c, d, 0, 0, 0, 1]).shown(image)
    np.testing.assert_array_equal(graph.pull().to_ndarray(format="bgr24"), shown)


@pytest.mark.parametrize(
    ("matrix", "nearest"),
    [((0.9, 0.1, -0.1, 0.9), (1, 0, 0, 1)), ((0.2, 1.9, -1.9, 0.2), (0, 1, -1, 0)),
     ((0, 0, 0, 0), (1, 0, 0, 1)), ((-2, 0, 0, 1), (-1, 0, 0, 1))],
)  # fmt: skip
def test_other_matrices_are_the_nearest_of_the_eight(matrix, nearest):
    a, b, c, d = (round(65_536 * number) for number in matrix)
    image = asymmetric()
    shown = orientation_of_matrix([a, b, 0, c, d, 0, 0, 0, 1 << 30]).shown(image)
    np.testing.assert_array_equal(shown, EIGHT[nearest](image))


@pytest.mark.parametrize(("turned", "matrix"), [(6, (0, 1, -1, 0)), (3, (-1, 0, 0, -1))])
def test_side_data_unknown_to_pyav_does_not_hide_a_rotation(tmp_path, turned, matrix):
    about = PIL.Image.Exif()
    about[274] = turned  # orientation; FFmpeg 8.1 keeps it beside the display matrix
    for name, exif in (("plain.jpg", PIL.Image.Exif()), ("turned.jpg", about)):
        PIL.Image.fromarray(asymmetric()).save(tmp_path / name, exif=exif)
    _, plain, _ = pictures(tmp_path / "plain.jpg")
    np.testing.assert_array_equal(pictures(tmp_path / "turned.jpg")[1], EIGHT[matrix](plain))
