"""When tracks end, with a detector and a describer made of paper: no weights are needed."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from castlist.video.detect import Faces
from castlist.video.external_tracks import LANDMARKS
from castlist.video.frames import open_video
from castlist.video.sampling import ResumePoint
from castlist.video.shot_tracking import track_shots
from castlist.video.tracking_settings import TrackingSettings
from datasets.small_videos import plain, write_video
from tests.video.test_external_tracks import Colours

RED, BLUE = (30, 30, 200), (200, 30, 30)
RATES = [1, 5, 12, Fraction(24000, 1001), Fraction(30000, 1001), 50]
#: Frames 10 ms to 0.4 s apart, 40 of them.
VARIABLE = np.cumsum(np.random.default_rng(0).choice([0.01, 0.04, 0.1, 0.4], 40)).round(3)


class White:
    """Finds a face where a picture has a white corner."""

    name = "white"

    def detect(self, image, width=640):
        there = int(image[:10, :10].mean() > 200)
        box = np.array([[40, 20, 40, 40]] * there, np.float32).reshape(-1, 4)
        points = box[:, None, :2] + LANDMARKS * box[:, None, 2:]
        return Faces(box, points.astype(np.float32), np.full(len(box), 0.95, np.float32))


def picture(colour, face=True):
    """Return a room in a colour, with something on its wall."""
    image = plain(colour, (160, 90))
    for k in range(8):  # a cut changes more than one thing
        image[65:, 20 * k : 20 * k + 20] = image[:, 90 + 20 * k : 110 + 20 * k] = 255 * (k % 2)
    image[:12, :12] = 255 if face else 0
    return image


def watched(path, start=None, **settings):
    with open_video(path) as video:
        how = (White(), Colours(), TrackingSettings(**settings), start)
        return list(track_shots(video, *how))


@pytest.mark.parametrize("fps", [*RATES, None])
def test_tracks_end_at_the_cut_and_at_the_end_of_the_video(tmp_path, fps):
    images = [picture(RED)] * 13 + [picture(BLUE)] * 16 + [picture(RED)] * 11
    times = VARIABLE - VARIABLE[0] if fps is None else np.arange(40) / float(fps)
    path = write_video(
        tmp_path / "v.mp4", images, fps or 25, times=times.tolist() if fps is None else None
    )
    end = times[-1] + float(1 / (fps or 25))
    shots = watched(path, sample_rate=2.0)
    assert [len(shot.tracks) for shot in shots] == [1, 1, 1]
    spans = [(track.time[0], track.end) for shot in shots for track in shot.tracks]
    truth = [(0, times[13]), (times[13], times[29]), (times[29], end)]
    np.testing.assert_allclose(spans, truth, atol=1e-3)
    np.testing.assert_allclose([shot.end for shot in shots], [b for _, b in truth], atol=1e-3)
    (last,) = watched(path, shots[1].next, sample_rate=2.0)
    assert (last.tracks[0].end, last.end) == (shots[2].tracks[0].end, shots[2].end)


def test_a_still_is_detected_once_and_has_the_same_tracks(tmp_path):
    """The first 30 pictures are one still. In the others a corner changes with every picture."""

    class Counting(White):
        seen = 0

        def detect(self, image, width=640):
            Counting.seen += 1
            return super().detect(image, width)

    still = [picture(RED)] * 30
    moving = [picture(RED) for _ in range(30)]
    for k, image in enumerate(moving):
        image[80:, 150:] = 8 * k
    path = write_video(tmp_path / "v.mkv", still + moving, fps=5, codec="ffv1")
    with open_video(path) as video:
        (shot,) = track_shots(video, Counting(), Colours(), TrackingSettings())
    assert shot.n_frames == 60
    assert Counting.seen < 50
    (track,) = shot.tracks
    assert len(track.time) == 60


def test_a_face_that_leaves_ends_at_the_next_sampled_frame(tmp_path):
    images = [picture(RED)] * 18 + [picture(RED, face=False)] * 32
    (shot,) = watched(write_video(tmp_path / "v.mp4", images))
    (track,) = shot.tracks
    assert (track.number[-1], track.end) == (15, pytest.approx(20 / 25))


def test_a_track_that_is_parted_ends_where_the_next_part_begins(tmp_path):
    """Half way the face is another one, and the picture is not."""
    images = [picture((90, 90, 90)) for _ in range(100)]
    for k, image in enumerate(images):
        image[20:60, 40:80] = (90, 0, 0) if k < 50 else (0, 50, 0)
    (shot,) = watched(write_video(tmp_path / "v.mp4", images))
    first, second = shot.tracks
    assert (first.time[0], second.end) == pytest.approx((0.0, 4.0))
    assert first.end == second.time[0]


def test_a_slideshow_shows_every_picture_to_its_end(tmp_path):
    images = [picture(RED), picture(BLUE), picture(RED)]
    shots = watched(write_video(tmp_path / "v.mp4", images, Fraction(1, 5)))
    spans = [(track.time[0], track.end) for shot in shots for track in shot.tracks]
    np.testing.assert_allclose(spans, [(0, 5), (5, 10), (10, 15)])
    assert shots[0].next == ResumePoint(5.0, 1, 1)
