from __future__ import annotations

import zipfile

import av
import cv2
import numpy as np

from datasets.clip_video import encode
from datasets.large_video import SIDE, TILE, loop, mosaic, people_in
from datasets.small_videos import plain


def frames(path):
    with av.open(str(path)) as container:
        return [(one.time, one.to_ndarray(format="bgr24")) for one in container.decode(video=0)]


def test_a_looped_clip_goes_on_as_if_it_were_one_video(tmp_path):
    clip, out = tmp_path / "clip.mp4", tmp_path / "out.mp4"
    encode(clip, (plain((20 * k, 90, 90)) for k in range(10)), (64, 48), 5)
    loop(clip, out, 3)
    shown = frames(out)
    np.testing.assert_allclose([time for time, _ in shown], np.arange(30) / 5, atol=1e-6)
    for k, (_, image) in enumerate(shown):
        np.testing.assert_array_equal(image, shown[k % 10][1])
    with av.open(str(out)) as container:
        assert container.duration == 6_000_000


def test_everybody_is_in_every_shot_of_a_mosaic(tmp_path):
    colours = [(40, 40, 200), (40, 200, 40), (200, 40, 40)]
    mosaic([[plain(colour, (80, 80))] for colour in colours], tmp_path / "out.mp4", 3, 0.2)
    shown = frames(tmp_path / "out.mp4")
    assert len(shown) == 6
    for _, image in shown:
        middles = image[TILE // 2 :: TILE, TILE // 2 :: TILE].reshape(-1, 3).argmax(axis=1)
        assert np.bincount(middles).tolist() == [33, 33, 34]
        assert len(middles) == SIDE * SIDE


def test_those_with_most_pictures_are_read(tmp_path):
    picture = cv2.imencode(".png", plain((1, 2, 3), (70, 70)))[1].tobytes()
    with zipfile.ZipFile(tmp_path / "faces.zip", "w") as archive:
        for name in (
            "a/0.jpg",
            "b/0.jpg",
            "b/1.jpg",
            "c/0.jpg",
            "c/1.jpg",
            "c/2.jpg",
            "c/about.txt",
        ):
            archive.writestr(f"faces/{name}", picture)
    people = people_in(tmp_path / "faces.zip", 2)
    assert [len(pictures) for pictures in people] == [3, 2]
    assert people[0][0].shape == (50, 50, 3)  # the edge is cut off
