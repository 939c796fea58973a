from __future__ import annotations

import av
import cv2
import numpy as np
import pytest

from castlist import InputError
from castlist.export.timeline import timelines
from castlist.handover.blur import MARGIN, blur_faces, unsure_stretches, write_blurred
from castlist.video.frames import open_video
from datasets.small_videos import orient, write_video
from tests.export.casts import made_cast
from tests.handover.test_reel import lengths

SIZE = (700, 120)
RATE = 10
#: Where made_cast() puts the faces of two people: left, top, width, height.
FACES = [(600, 20, 80, 90), (300, 20, 80, 90)]


def noisy(k):
    """A picture of fine noise: what is blurred is smooth."""
    return np.random.default_rng(k).integers(0, 256, (SIZE[1], SIZE[0], 3), np.uint8)


def roughness(image, box):
    x, y, w, h = (int(v) for v in box)
    part = image[y + h // 4 : y + 3 * h // 4, x + w // 4 : min(SIZE[0], x + 3 * w // 4)].astype(
        float
    )
    return np.abs(np.diff(part, axis=1)).mean()


@pytest.fixture(scope="module")
def blurred(tmp_path_factory):
    folder = tmp_path_factory.mktemp("blur")
    write_video(folder / "v.mp4", (noisy(k) for k in range(60)), RATE, "libx264", crf="5")
    spans = [(1.0, 2.8, 0), (1.0, 2.8, 1), (4.0, 4.8, 0)]
    cast = made_cast(folder / "v.cast", RATE, video="v.mp4", size=SIZE, spans=spans, duration=6.0)
    cast.name(cast.cast.characters[0].number, "Anna")
    unsure = write_blurred(cast, folder / "out.mp4", visible=["Anna"])
    with av.open(str(folder / "out.mp4")) as film:
        frames = [(one.time, one.to_ndarray(format="bgr24")) for one in film.decode(video=0)]
    return cast, frames, unsure, folder


def test_everybody_but_one_is_blurred_while_seen(blurred):
    _, frames, _, _ = blurred
    assert len(frames) == 60
    for time, image in frames:
        anna, ben = (roughness(image, box) for box in FACES)
        assert anna > 20
        if 1.0 - MARGIN + 0.05 < time < 3.0 + MARGIN - 0.05:
            assert ben < 10, time
        elif not 1.0 - MARGIN - 0.05 < time < 3.0 + MARGIN + 0.05:
            assert ben > 20, time


def test_boxes_are_interpolated_and_larger():
    image = noisy(0)
    made = blur_faces(image, [np.array([100.0, 30, 60, 60])])
    changed = np.argwhere((made != image).any(axis=2))
    (top, left), (bottom, right) = changed.min(0), changed.max(0)
    assert (right - left, bottom - top) == pytest.approx((90, 90), abs=3)
    np.testing.assert_array_equal(blur_faces(image, []), image)
    blur_faces(image, [np.array([-500.0, 10, 20, 20])])  # outside


def test_tracks_of_uncertain_people_are_listed(blurred):
    cast, _, unsure, _ = blurred
    (timeline,) = timelines(cast)
    anna = next(one for one in timeline.people if one.label == "Anna")
    listed = [one for one in unsure if one.why.startswith("is this Anna?")]
    assert len(listed) == sum(sure < 0.97 for sure in anna.track_confidence)
    assert unsure == unsure_stretches(timeline, {anna.character.number})


def test_sound_is_copied(tmp_path):
    from tests.handover.test_reel import write_film

    write_film(tmp_path / "v.mp4", seconds=3, size=SIZE)
    cast = made_cast(tmp_path / "v.cast", video="v.mp4", spans=[(0.0, 1.8, 0)], duration=3.0)
    write_blurred(cast, tmp_path / "out.mkv")
    found = lengths(tmp_path / "out.mkv")
    assert found["audio"] == pytest.approx(3, abs=0.1)
    assert found["video"] == pytest.approx(3, abs=0.1)


def test_the_same_video_in_another_size_is_blurred_at_the_same_places(tmp_path):
    small = (noisy(k)[::2, ::2].copy() for k in range(20))
    write_video(tmp_path / "v.mp4", small, RATE, "libx264", crf="5")
    cast = made_cast(
        tmp_path / "v.cast", RATE, video="v.mp4", size=SIZE, spans=[(0.0, 1.8, 1)], duration=2.0
    )
    write_blurred(cast, tmp_path / "out.mp4")
    with av.open(str(tmp_path / "out.mp4")) as film:
        frames = [one.to_ndarray(format="bgr24") for one in film.decode(video=0)]
    for image in frames:
        seen, blurred = (roughness(image, np.array(box) / 2) for box in FACES)
        assert seen > 20
        assert blurred < 10
    cast.close()


@pytest.mark.parametrize(
    ("matrix", "shown"),
    [((-1, 0, 0, 1), lambda stored: stored[:, ::-1]), ((1, 0, 0, -1), lambda stored: stored[::-1]),
     ((0, 1, 1, 0), lambda stored: stored.swapaxes(0, 1))],
)  # fmt: skip
def test_a_mirrored_video_is_blurred_where_its_faces_are_shown(tmp_path, matrix, shown):
    size = SIZE[::-1] if matrix[1] else SIZE  # as stored
    stored = np.random.default_rng(0).integers(0, 256, (size[1], size[0], 3), np.uint8)
    video = tmp_path / "v.mp4"
    orient(write_video(video, [stored] * 10, RATE, "libx264", crf="5"), matrix)
    cast = made_cast(
        tmp_path / "v.cast", RATE, video="v.mp4", size=SIZE, spans=[(0.0, 0.8, 1)], duration=1.0
    )
    write_blurred(cast, tmp_path / "out.mp4")
    with open_video(tmp_path / "out.mp4") as made:
        image = list(made.frames())[5].image()
    assert image.shape == (SIZE[1], SIZE[0], 3)
    assert roughness(image, FACES[1]) < 10
    assert roughness(image, FACES[0]) > 20
    left = (slice(None), slice(0, 200))  # nobody is there
    grey = [cv2.cvtColor(one[left], cv2.COLOR_BGR2GRAY) for one in (image, shown(stored).copy())]
    assert np.corrcoef(grey[0].ravel(), grey[1].ravel())[0, 1] > 0.9


def test_what_cannot_be_done_is_said(blurred, tmp_path):
    cast, _, _, folder = blurred
    with pytest.raises(InputError, match="the video itself"):
        write_blurred(cast, folder / "v.mp4")
    with pytest.raises(InputError, match="write a film as"):
        write_blurred(cast, tmp_path / "out.avi")
    with pytest.raises(InputError, match="no video 'w.mp4'"):
        write_blurred(cast, tmp_path / "out.mp4", video="w.mp4")
