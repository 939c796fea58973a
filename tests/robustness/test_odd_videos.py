"""Videos whose pictures and times are known are decoded, blurred, cut and scanned rightly."""

from __future__ import annotations

import cv2
import numpy as np
import pytest

from castlist.handover.blur import write_blurred
from castlist.handover.reel import Clip, write_reel
from castlist.pipeline.scan import scan
from castlist.video.frames import open_video
from datasets.small_videos import orient, write_video
from robustness.odd_videos import COUNT, FPS, ODD_VIDEOS, ORIENTATIONS, drawn, number_of
from tests.export.casts import made_cast, note_video

every = pytest.mark.parametrize("name", ODD_VIDEOS)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with all videos of the corpus."""
    home = tmp_path_factory.mktemp("odd")
    for video in ODD_VIDEOS.values():
        video.write(home)
    return home


def seen(video, *start):
    """Return the number in each picture, and when it is shown."""
    return [(number_of(frame.image()), frame.time) for frame in video.frames(*start)]


def test_drawings_tell_their_number_and_which_side_is_up():
    for number in range(0, 256, 5):
        for size in ((128, 72), (64, 72), (128, 128)):
            assert number_of(drawn(number, size)) == number
    for _, turned in list(ORIENTATIONS.values())[1:]:
        assert number_of(turned(drawn(0b10110))) == -1


@every
def test_pictures_are_upright_and_at_their_times(folder, name):
    odd = ODD_VIDEOS[name]
    with open_video(folder / name) as video:
        frames = list(video.frames())
        pictures = seen(video)
        end = frames[-1].time + frames[-1].duration
        assert (video.size, video.stored_size) == (odd.size, odd.stored_size)
        assert video.delay == pytest.approx(odd.delay, abs=0.03)
        assert video.cut_short(end) == odd.cut_short
    count = len(pictures)
    assert count == COUNT if odd.share == 1 else 10 < count < 40
    assert [number for number, _ in pictures] == list(range(count))
    np.testing.assert_allclose([time for _, time in pictures], odd.times[:count], atol=2e-3)


@every
def test_going_on_in_the_middle_gives_the_same_pictures(folder, name):
    with open_video(folder / name) as video:
        whole = seen(video)
        assert not video.mended
        first = round(0.6 * len(whole))
        assert seen(video, whole[first][1], first) == whole[first:]


@every
def test_a_blurred_film_has_the_same_pictures_at_the_same_times(folder, tmp_path, name):
    odd = ODD_VIDEOS[name]
    cast = made_cast(tmp_path / "v.cast", FPS, video=name, spans=[(0.0, 0.4, 0)], duration=2.0)
    note_video(cast.folder, size=list(odd.size), delay=odd.delay, path=str(folder / name))
    with type(cast)(cast.folder) as corrections:
        write_blurred(corrections, tmp_path / "out.mp4", visible=[1])
    with open_video(folder / name) as source, open_video(tmp_path / "out.mp4") as made:
        assert made.size == odd.size
        assert made.delay == pytest.approx(odd.delay, abs=0.03)
        (numbers, times), (others, again) = (zip(*seen(one), strict=True) for one in (source, made))
    assert others == numbers
    np.testing.assert_allclose(again, times, atol=2e-3)


@pytest.mark.parametrize("name", [name for name, odd in ODD_VIDEOS.items() if odd.share == 1])
def test_a_reel_has_the_pictures_of_its_scene(folder, tmp_path, name):
    start, end = (ODD_VIDEOS[name].times[k] for k in (12, 20))
    write_reel([Clip(folder / name, start, end)], tmp_path / "out.mp4", exact=True)
    with open_video(tmp_path / "out.mp4") as made, open_video(folder / name) as source:
        numbers = [number for number, _ in seen(made)]
        rate = source.rate
    assert numbers == sorted(numbers)
    scene = set(range(12, 20))
    # A reel has the mean frame rate of the video, which a gap makes lower in some formats.
    assert set(numbers) == scene if rate == FPS else numbers[0] == 12 and set(numbers) <= scene


@pytest.mark.parametrize(
    "way", [pytest.param(way, marks=() if way == "mirrored" else pytest.mark.slow)
            for way in list(ORIENTATIONS)[1:]],
)  # fmt: skip
def test_a_person_is_found_whatever_the_orientation(portraits, tmp_path, way):
    with open_video(portraits / "guido.mp4") as video:
        images = [cv2.resize(frame.image(), (320, 240)) for frame in video.frames()][:10]
    matrix, turned = ORIENTATIONS[way]
    plain = scan(write_video(tmp_path / "plain.mp4", images, codec="libx264")).cast.tracks
    stored = [np.ascontiguousarray(turned(image)) for image in images]
    path = orient(write_video(tmp_path / "v.mp4", stored, codec="libx264"), matrix)
    tracks = scan(path).cast.tracks
    assert len(tracks) == len(plain) == 1
    assert tracks.frame.tolist() == plain.frame.tolist()
    np.testing.assert_allclose(tracks.box, plain.box, atol=6)
