from __future__ import annotations

import av
import cv2
import numpy as np
import pytest

from castlist import InputError, TrackSet
from castlist.cast.corrections import Corrections
from castlist.export.timeline import timelines
from castlist.handover.blur import (
    LARGER,
    MARGIN,
    Cover,
    cover_faces,
    unsure_stretches,
    write_blurred,
)
from castlist.video.frames import open_video
from datasets.small_videos import orient, write_video
from datasets.synthetic_casts import write_folder
from tests.export.casts import made_cast, note_video
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
    unsure = write_blurred(cast, folder / "out.mp4", visible=["Anna"], cover=Cover.BLUR)
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


@pytest.mark.parametrize("cover", Cover)
def test_boxes_are_larger(cover):
    image = noisy(0)
    made = cover_faces(image, [np.array([100.0, 30, 60, 60])], cover)
    changed = np.argwhere((made != image).any(axis=2))
    (top, left), (bottom, right) = changed.min(0), changed.max(0)
    assert (right - left, bottom - top) == pytest.approx((90, 90), abs=3)
    np.testing.assert_array_equal(cover_faces(image, []), image)
    cover_faces(image, [np.array([-500.0, 10, 20, 20])], cover)  # outside


def test_nothing_is_left_of_a_face_unless_asked(tmp_path):
    frames = [np.random.default_rng(k).integers(60, 256, (SIZE[1], SIZE[0], 3), np.uint8)
              for k in range(10)]  # fmt: skip
    write_video(tmp_path / "v.mp4", frames, RATE, "libx264", crf="5")
    cast = made_cast(
        tmp_path / "v.cast", RATE, video="v.mp4", size=SIZE, spans=[(0, 0.8, 1)], duration=1.0
    )
    write_blurred(cast, tmp_path / "out.mp4")
    x, y, w, h = FACES[1]
    with av.open(str(tmp_path / "out.mp4")) as film:
        for frame in film.decode(video=0):
            image = frame.to_ndarray(format="bgr24")
            assert image[y : y + h, x : x + w].max() <= 20  # black, as it is encoded
            assert image[:, :200].mean() > 100


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
    write_blurred(cast, tmp_path / "out.mp4", cover=Cover.BLUR)
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
    write_blurred(cast, tmp_path / "out.mp4", cover=Cover.BLUR)
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


def moving_cast(folder, boxes, tracks=None, every=0.2):
    """Make a cast of one person whose face is in these boxes, looked at every 0.2 s."""
    times = every * np.arange(len(boxes))
    tracks = ["00001"] * len(boxes) if tracks is None else tracks
    faces = TrackSet.from_faces(
        tracks, feature=np.tile(np.eye(8)[0], (len(boxes), 1)), time=times, frame=10 * times,
        end=[every * (len(tracks) - tracks[::-1].index(own)) for own in tracks],
        box=boxes, shot=[0] * len(boxes), video="v.mp4", describer="SFace",
    )  # fmt: skip
    write_folder(folder, faces, [0] * len(set(tracks)), duration=float(times[-1] + every))
    note_video(folder, name="v.mp4", size=[640, 360], rate=10.0)
    return Corrections(folder)


def fast(cast):
    (timeline,) = timelines(cast)
    return [one for one in unsure_stretches(timeline, set()) if one.why.endswith("moves fast")]


def is_inside(face, box):
    """Return whether the ellipse in a face's box is inside the covered one around a box."""
    angles = np.linspace(0, 2 * np.pi, 60)
    edge = np.array([np.cos(angles), np.sin(angles)]).T * face[2:] / 2 + face[:2] + face[2:] / 2
    away = (edge - (box[:2] + box[2:] / 2)) / (LARGER * box[2:] / 2)
    return bool((np.hypot(*away.T) <= 1 + 1e-6).all())


@pytest.mark.parametrize("seed", range(5))
def test_a_face_is_covered_or_its_stretch_is_listed(tmp_path, seed):
    """However it moves from look to look: here it stays, jumps at any time, and stays."""
    rng = np.random.default_rng(seed)
    steps = rng.normal(0, 1, (30, 2)) * rng.choice([2, 12, 60], (30, 1))
    boxes = np.column_stack([200 + steps.cumsum(0), np.tile([60.0, 80.0], (30, 1))])
    listed = fast(moving_cast(tmp_path / "v.cast", boxes))
    left = 0
    for k in range(29):
        for share in np.linspace(0, 1, 11)[1:-1]:
            box = (1 - share) * boxes[k] + share * boxes[k + 1]
            time = 0.2 * (k + share)
            for face in (boxes[k], boxes[k + 1]):
                if not is_inside(face, box):
                    left += 1
                    assert any(one.start <= time <= one.end for one in listed), (k, share)
    assert left
    assert 0 < sum(one.end - one.start for one in listed) < 5  # and not everything


def test_a_face_that_is_still_is_not_listed(tmp_path):
    boxes = np.tile([100.0, 100, 60, 80], (20, 1)) + np.random.default_rng(0).normal(0, 1, (20, 4))
    assert fast(moving_cast(tmp_path / "v.cast", boxes)) == []


def test_a_fast_beginning_and_end_are_listed_with_the_time_before_and_after(tmp_path):
    x = np.array([0, 60, 62, 64, 66, 68, 70, 72, 74, 134])
    boxes = np.column_stack([x, np.tile([100.0, 60, 80], (10, 1))])
    listed = fast(moving_cast(tmp_path / "v.cast", boxes))
    spans = [(one.start, one.end) for one in listed]
    # Looked at from 0 to 1.8 s; the track ends at 2.0 s.
    np.testing.assert_allclose(spans, [(0, 0.2), (1.6, 2 + MARGIN)], atol=1e-6)


def test_a_jump_between_two_tracks_of_a_shot_is_listed(tmp_path):
    boxes = np.tile([100.0, 100, 60, 80], (6, 1))
    boxes[3:, 0] += 100
    for name, shift in (("near", -95.0), ("far", 0.0)):
        own = boxes + np.array([[0, 0, 0, 0]] * 3 + [[shift, 0, 0, 0]] * 3)
        listed = fast(moving_cast(tmp_path / f"{name}.cast", own, ["00001"] * 3 + ["00002"] * 3))
        spans = [(one.start, one.end) for one in listed]
        expected = [] if name == "near" else [(0.4, 0.6)]
        np.testing.assert_allclose(
            spans or np.empty((0, 2)), np.reshape(expected, (-1, 2)), atol=1e-6
        )
