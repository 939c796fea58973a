from __future__ import annotations

import av
import numpy as np
import pytest

from castlist import InputError
from castlist.handover.reel import Clip, write_reel
from castlist.video.frames import open_video
from datasets.small_videos import orient, plain, turn_upright, write_video

RATE = 25
SIZE = (64, 48)


def write_film(path, seconds=8, codec="libx264", gop=25, sound=True, rate=RATE, size=SIZE):
    """Write a film whose n-th frame has a brightness of 2 n, with a rising tone."""
    with av.open(str(path), "w") as film:
        options = {"g": str(gop), "bf": "2", "crf": "8", "sc_threshold": "0"}
        video = film.add_stream(codec, rate=rate, options=options)
        video.width, video.height, video.pix_fmt = *size, "yuv420p"
        audio = film.add_stream("aac", rate=48_000, layout="stereo") if sound else None
        for k in range(seconds * rate):
            image = plain((level(k),) * 3, size)
            film.mux(video.encode(av.VideoFrame.from_ndarray(image, "bgr24")))
            if audio:
                samples = np.full((2, 48_000 // rate), k / (seconds * rate), np.float32)
                frame = av.AudioFrame.from_ndarray(samples, "fltp", "stereo")
                frame.sample_rate, frame.pts = 48_000, k * (48_000 // rate)
                film.mux(audio.encode(frame))
        film.mux(video.encode(None))
        if audio:
            film.mux(audio.encode(None))
    return path


def level(k):
    return 20 + k


def frames_of(path):
    """Return which frames of the film each picture of a file is, by brightness, and their times."""
    with av.open(str(path)) as film:
        found = [
            (frame.time, frame.to_ndarray(format="gray8").mean()) for frame in film.decode(video=0)
        ]
    times, values = np.array(found).T
    return times, values


def lengths(path):
    with av.open(str(path)) as film:
        seconds = {}
        for stream in film.streams:
            ends = [
                float((p.pts + (p.duration or 0)) * p.time_base)
                for p in film.demux(stream) if p.pts is not None
            ]  # fmt: skip
            seconds[stream.type] = max(ends)
            film.seek(0)
    return seconds


@pytest.fixture(scope="module")
def film(tmp_path_factory):
    return write_film(tmp_path_factory.mktemp("film") / "film é.mp4")


def test_exact_reels_have_exactly_the_frames(film, tmp_path):
    clips = [Clip(film, 1.2, 2.0), Clip(film, 5.0, 5.4)]
    seconds = write_reel(clips, tmp_path / "reel.mp4", exact=True)
    assert seconds == pytest.approx(1.2)
    _, values = frames_of(tmp_path / "reel.mp4")
    _, source = frames_of(film)
    expected = np.concatenate([source[30:50], source[125:135]])
    np.testing.assert_allclose(values, expected, atol=1.5)
    found = lengths(tmp_path / "reel.mp4")
    assert found["audio"] == pytest.approx(1.2, abs=0.05)


@pytest.mark.parametrize("suffix", [".mp4", ".mkv", ".mov"])
def test_copied_reels_begin_at_key_frames_and_are_not_encoded_again(film, tmp_path, suffix):
    out = tmp_path / f"reel{suffix}"
    clips = [Clip(film, 1.2, 2.0), Clip(film, 5.04, 5.4)]
    seconds = write_reel(clips, out)
    times, values = frames_of(out)
    _, source = frames_of(film)
    first = values[: np.argmax(np.diff(values) > 10) + 1]
    second = values[len(first) :]
    # Key frames are at 1 s and 5 s. A few frames after the end may be needed by those before.
    np.testing.assert_array_equal(first[:25], source[25:50])
    np.testing.assert_array_equal(second[:10], source[125:135])
    assert len(values) <= 25 + 10 + 8
    assert (np.diff(times) > 0).all()
    assert seconds == pytest.approx(times[-1] + 1 / RATE, abs=0.1)
    found = lengths(out)
    assert found["audio"] == pytest.approx(found["video"], abs=0.25)


def test_sound_stays_with_its_pictures(film, tmp_path):
    write_reel([Clip(film, 4.0, 6.0)], tmp_path / "reel.mp4", exact=True)
    with av.open(str(tmp_path / "reel.mp4")) as made:
        samples = np.concatenate([f.to_ndarray()[0] for f in made.decode(audio=0)])
    # The sound is a ramp over the film's 8 s: in the middle of this part it is at 5 s.
    assert samples[len(samples) // 2] == pytest.approx(5 / 8, abs=0.03)


def test_videos_without_sound_and_of_two_kinds(film, tmp_path):
    silent = write_film(tmp_path / "silent.mp4", sound=False, size=(96, 64))
    write_reel([Clip(silent, 0.0, 1.0)], tmp_path / "one.mp4")
    assert set(lengths(tmp_path / "one.mp4")) == {"video"}
    both = [Clip(film, 0.0, 1.0), Clip(silent, 2.0, 3.0)]
    with pytest.raises(InputError, match="size, orientation or codec differs"):
        write_reel(both, tmp_path / "both.mp4")
    assert not (tmp_path / "both.mp4").exists()
    write_reel(both, tmp_path / "both.mp4", exact=True)
    found = lengths(tmp_path / "both.mp4")
    assert found["video"] == pytest.approx(2, abs=0.05)
    assert found["audio"] == pytest.approx(2, abs=0.05)


def test_another_frame_rate_and_shape_keep_speed_and_proportions(film, tmp_path):
    wide = write_film(tmp_path / "wide.mp4", seconds=4, rate=50, size=(96, 24))
    clips = [Clip(film, 0.0, 1.0), Clip(wide, 1.0, 3.0)]
    assert write_reel(clips, tmp_path / "both.mp4", exact=True) == pytest.approx(3)
    with av.open(str(tmp_path / "both.mp4")) as made:
        frames = [one.to_ndarray(format="gray8") for one in made.decode(video=0)]
    assert len(frames) == 3 * RATE
    second = frames[2 * RATE]  # one second into the second clip: 2 s of that video, its frame 100
    assert second[:12].mean() < 25  # black above: 64 x 16 of 64 x 48
    with av.open(str(wide)) as source:
        expected = [one.to_ndarray(format="gray8").mean() for one in source.decode(video=0)][100]
    assert second[20:28].mean() == pytest.approx(expected, abs=4)


@pytest.mark.parametrize("exact", [True, False])
def test_a_video_of_a_telephone_stays_upright(tmp_path, exact):
    path = write_film(tmp_path / "turned.mp4", seconds=2, sound=False)
    turn_upright(path, 1)
    write_reel([Clip(path, 0.0, 1.0)], tmp_path / "reel.mp4", exact=exact)
    with open_video(path) as source, open_video(tmp_path / "reel.mp4") as made:
        assert made.size == source.size == (SIZE[1], SIZE[0])


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize("suffix", [".mp4", ".mkv", ".mov"])
def test_a_mirrored_video_stays_so(tmp_path, exact, suffix):
    image = np.zeros((SIZE[1], SIZE[0], 3), np.uint8)
    image[: SIZE[1] // 2, : SIZE[0] // 2] = 255  # stored on the upper left
    path = orient(write_video(tmp_path / "v.mp4", [image] * 20, codec="libx264"), (-1, 0, 0, 1))
    write_reel([Clip(path, 0.0, 0.6)], tmp_path / f"reel{suffix}", exact=exact)
    with open_video(tmp_path / f"reel{suffix}") as made:
        shown = next(made.frames()).image()
    corners = shown[[[5, 5], [-5, -5]], [[5, -5], [5, -5]], 0] > 128
    assert corners.tolist() == [[False, True], [False, False]]


def test_videos_that_are_shown_another_way_up_are_not_copied_together(tmp_path):
    paths = [write_film(tmp_path / f"{k}.mp4", seconds=1, sound=False) for k in range(2)]
    orient(paths[1], (-1, 0, 0, -1))
    with pytest.raises(InputError, match="1.mp4: size, orientation or codec differs"):
        write_reel([Clip(path, 0.0, 0.6) for path in paths], tmp_path / "reel.mp4")


def test_what_cannot_be_done_is_said(film, tmp_path):
    with pytest.raises(InputError, match="no scene"):
        write_reel([], tmp_path / "reel.mp4")
    with pytest.raises(InputError, match="one of the videos"):
        write_reel([Clip(film, 0, 1)], film)
    with pytest.raises(InputError, match="write a film as"):
        write_reel([Clip(film, 0, 1)], tmp_path / "reel.doc")
    assert [path.name for path in tmp_path.iterdir()] == []
