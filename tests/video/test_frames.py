from __future__ import annotations

import itertools
import re
import struct
import wave
from fractions import Fraction
from types import SimpleNamespace

import av
import numpy as np
import pytest

from castlist import CastlistError, InputError
from castlist.video.frames import open_video
from datasets.small_videos import plain, turn_upright, write_video

QUARTERS = np.zeros((48, 64, 3), np.uint8)
QUARTERS[:24, :32] = (0, 0, 255)  # red on the upper left
QUARTERS[:24, 32:] = (0, 255, 0)
QUARTERS[24:, :32] = (255, 0, 0)


def colour_at(image: np.ndarray, x: float, y: float) -> list[int]:
    h, w = image.shape[:2]
    return (image[int(y * h), int(x * w)] > 128).astype(int).tolist()


def test_frames_come_with_number_time_and_picture(tmp_path):
    path = write_video(tmp_path / "v.mp4", [QUARTERS] * 30)
    with open_video(path) as video:
        assert video.size == (64, 48)
        assert video.duration == pytest.approx(1.2)
        frames = [(f.number, f.time, f.image()) for f in video.frames()]
    assert [n for n, _, _ in frames] == list(range(30))
    np.testing.assert_allclose([t for _, t, _ in frames], np.arange(30) / 25, atol=1e-6)
    assert colour_at(frames[7][2], 0.25, 0.25) == [0, 0, 1]


@pytest.mark.parametrize("fps", [1, 25, Fraction(1, 5), Fraction(24000, 1001)])
@pytest.mark.parametrize("suffix", ["mp4", "mkv", "ts"])
def test_frames_last_until_the_next_one_and_the_last_until_the_end(tmp_path, suffix, fps):
    path = write_video(tmp_path / f"v.{suffix}", [plain((9, 9, 9))] * 6, fps, codec="libx264")
    with open_video(path) as video:
        frames = list(video.frames())
    np.testing.assert_allclose([f.duration for f in frames], float(1 / fps), atol=1e-3)
    assert frames[-1].time + frames[-1].duration == pytest.approx(6 / fps, abs=2e-3)


def test_a_frame_without_duration_lasts_by_the_frame_rate(tmp_path):
    path = write_video(tmp_path / "v.avi", [plain((9, 9, 9))] * 3, times=[0, 0.1, 0.5])
    with open_video(path) as video:
        assert [f.duration for f in video.frames()] == [1 / video.rate] * 3


def test_a_picture_is_not_shown_for_years(tmp_path):
    with open_video(write_video(tmp_path / "v.mp4", [plain((9, 9, 9))] * 3)) as video:
        ages = SimpleNamespace(duration=2**62, time_base=Fraction(1, 1000))
        video._from = lambda start: iter([(0.0, ages)])
        assert [f.duration for f in video.frames()] == [1 / 25]


def test_a_variable_frame_rate_keeps_its_times(tmp_path):
    times = [0, 0.04, 0.5, 0.54, 2.0, 2.02]
    path = write_video(tmp_path / "v.mkv", [plain((9, 9, 9))] * 6, times=times)
    with open_video(path) as video:
        np.testing.assert_allclose([f.time for f in video.frames()], times, atol=1.5e-3)


@pytest.mark.parametrize("name", ["v.mkv", "v.nut", "v.mp4", "v.ts"])
@pytest.mark.parametrize("start", [0, 1000, 10**8])
def test_a_video_may_begin_late_and_is_no_longer_for_it(tmp_path, name, start):
    times = [start + k / 25 for k in range(50)]
    codec = "libx264" if name == "v.ts" else "mpeg4"
    path = write_video(tmp_path / name, [plain((9, 9, 9))] * 50, times=times, codec=codec)
    with open_video(path) as video:
        assert video.duration == pytest.approx(2, abs=0.1)
        last = list(video.frames())[-1]
        assert last.time == pytest.approx(1.96, abs=0.01)


@pytest.mark.parametrize(
    ("turns", "red", "size"),
    [(1, (0.75, 0.25), (48, 64)), (2, (0.75, 0.75), (64, 48)), (3, (0.25, 0.75), (48, 64))],
)
def test_pictures_stand_upright(tmp_path, turns, red, size):
    path = write_video(tmp_path / "v.mp4", [QUARTERS] * 3)
    turn_upright(path, turns)
    with open_video(path) as video:
        assert video.size == size
        image = next(video.frames()).image()
        assert image.shape[:2] == size[::-1]
        assert colour_at(image, *red) == [0, 0, 1]
        assert next(video.frames()).planes((24, 10)).shape == (3, 10, 24)


def test_pixels_that_are_not_square_are_made_so(tmp_path):
    path = tmp_path / "v.mkv"
    with av.open(str(path), "w") as container:
        stream = container.add_stream("mpeg4", rate=25)
        stream.width, stream.height, stream.pix_fmt = 64, 48, "yuv420p"
        stream.codec_context.sample_aspect_ratio = 2
        frame = av.VideoFrame.from_ndarray(QUARTERS, "bgr24").reformat(format="yuv420p")
        for packet in [*stream.encode(frame), *stream.encode(None)]:
            container.mux(packet)
    with open_video(path) as video:
        assert video.size == (64, 24)
        assert next(video.frames()).image().shape == (24, 64, 3)


@pytest.mark.parametrize("pixels", ["yuv444p", "yuv422p10le", "gray", "bgr0"])
def test_odd_pixel_formats(tmp_path, pixels):
    path = write_video(tmp_path / "v.mkv", [QUARTERS] * 2, codec="ffv1", pixels=pixels)
    with open_video(path) as video:
        image = next(video.frames()).image()
    assert image.shape == (48, 64, 3)
    if pixels != "gray":
        assert colour_at(image, 0.25, 0.25) == [0, 0, 1]


@pytest.mark.parametrize("space", [3, 8, 14, 255])
def test_colours_that_ffmpeg_does_not_know_are_shown_all_the_same(tmp_path, space):
    path = write_video(tmp_path / "a.mp4", [plain((0, 0, 255))] * 2)
    with open_video(path) as video:
        frame = next(video.frames())
        frame._picture.colorspace = space
        assert colour_at(frame.image(), 0.5, 0.5) == [0, 0, 1]


def combs(image: np.ndarray) -> float:
    """Return how much rows differ from both their neighbours, in the same direction."""
    rows = image[:, :, 0].astype(int)
    up, down = rows[1:-1] - rows[:-2], rows[1:-1] - rows[2:]
    return float(np.mean((up * down > 0) * np.minimum(np.abs(up), np.abs(down))))


def interlaced(width: int = 128) -> list[np.ndarray]:
    """Return frames of a bar that moves between the two fields of each."""
    fields = [plain((20, 20, 20), (width, 96)) for _ in range(24)]
    for i, field in enumerate(fields):
        field[:, 4 * i : 4 * i + 24] = 235
    even = np.arange(96)[:, None, None] % 2 == 0
    return [np.where(even, a, b) for a, b in zip(fields[::2], fields[1::2], strict=True)]


INTERLACED = {"codec": "mpeg2video", "flags": "+ildct+ilme"}


def test_interlaced_frames_are_deinterlaced(tmp_path):
    frames = interlaced()
    path = write_video(tmp_path / "v.mkv", frames, **INTERLACED)
    with open_video(path) as video:
        found = [f.image() for f in video.frames()]
        times = [f.time for f in video.frames()]
    assert len(found) == 12
    np.testing.assert_allclose(times, np.arange(12) / 25, atol=2e-3)
    assert combs(frames[6]) > 5
    assert combs(found[6]) < 0.2 * combs(frames[6])


def test_interlaced_frames_may_change_their_size(tmp_path):
    path = tmp_path / "v.ts"
    parts = [write_video(tmp_path / f"{w}.ts", interlaced(w), **INTERLACED) for w in (128, 160)]
    path.write_bytes(b"".join(part.read_bytes() for part in parts))
    with open_video(path) as video:
        decoded = sum(1 for _ in video._pictures())
        found = [f.image() for f in video.frames()]
    assert len(found) == decoded > 20
    assert {image.shape for image in found} == {(96, 128, 3)}
    assert max(combs(image) for image in found) < 0.2 * combs(interlaced()[6])


def test_an_error_of_deinterlacing_names_the_file(tmp_path):
    path = write_video(tmp_path / "v.mkv", interlaced(), **INTERLACED)
    with open_video(path) as video:
        video._stream = SimpleNamespace(time_base=Fraction(0), start_time=0)
        pictures = video._container.decode(video=0)
        video._pictures = lambda: pictures
        with pytest.raises(CastlistError, match=r"v\.mkv: deinterlacing failed"):
            list(video._timed())


@pytest.mark.parametrize("start", [0.5, 9.0, 17.0])
@pytest.mark.parametrize(
    ("suffix", "codec", "gop"),
    [("mp4", "mpeg4", 10), ("ts", "libx264", 250), ("mpg", "mpeg2video", 12), ("mkv", "mpeg4", 60)],
)
def test_going_on_in_the_middle_gives_the_same_frames(tmp_path, suffix, codec, gop, start):
    images = [plain((i % 256, 2 * i % 256, 100)) for i in range(500)]
    path = write_video(tmp_path / f"v.{suffix}", images, codec=codec, g=str(gop))
    with open_video(path) as video:
        whole = [(f.number, f.time, f.image()) for f in video.frames()]
    assert len(whole) == 500
    assert whole[0][1] == pytest.approx(0, abs=0.05)
    first = next(n for n, t, _ in whole if t >= start - 1e-6)
    with open_video(path) as video:
        rest = [(f.number, f.time, f.image()) for f in video.frames(start, first)]
    assert [r[:2] for r in rest] == [w[:2] for w in whole[first:]]
    for (_, _, a), (_, _, b) in zip(rest, whole[first:], strict=True):
        np.testing.assert_array_equal(a, b)


def test_recordings_put_behind_one_another_go_on_in_time(tmp_path):
    part = write_video(tmp_path / "a.ts", [plain((9, 9, 9))] * 50, codec="libx264")
    both = tmp_path / "both.ts"
    both.write_bytes(2 * part.read_bytes())
    with open_video(both) as video:
        times = [f.time for f in video.frames()]
        assert video.mended
        assert len(times) > 90
        assert times[-1] == pytest.approx(len(times) / 25, abs=0.5)
        rest = list(video.frames(3.0, 75, seek=False))
    assert [f.time for f in rest] == [t for t in times if t >= 3.0 - 1e-6]


def test_damaged_packets_are_skipped_and_counted(tmp_path):
    rng = np.random.default_rng(0)
    images = [rng.integers(0, 255, (48, 64, 3), np.uint8) for _ in range(60)]
    path = write_video(tmp_path / "v.mp4", images, g="1")
    data = bytearray(path.read_bytes())
    middle = len(data) // 2
    data[middle : middle + 4000] = bytes(4000)
    path.write_bytes(bytes(data))
    with open_video(path) as video:
        frames = list(video.frames())
        damaged = video.damaged
    assert 20 < len(frames) < 60
    assert damaged > 0
    assert all(b.time > a.time for a, b in itertools.pairwise(frames))


def test_a_disk_that_stops_answering_is_an_error(tmp_path):
    path = write_video(tmp_path / "v.mp4", [QUARTERS] * 50)
    with open_video(path) as video:

        class Failing:
            def __getattr__(self, name):
                return getattr(real, name)

            def demux(self, stream):
                for i, packet in enumerate(real.demux(stream)):
                    if i == 20:
                        raise OSError(5, "Input/output error")
                    yield packet

        frames = video.frames()
        next(frames)
        real, video._container = video._container, Failing()
        with pytest.raises(CastlistError, match="reading failed"):
            list(video._pictures())
        video._container = real


def noise(path, seconds=4, sound=0, **options):
    """Write frames of noise, of which each is a key frame, with so many seconds of sound."""
    rng = np.random.default_rng(0)
    with av.open(str(path), "w", container_options=options) as film:
        stream = film.add_stream("libx264", rate=25, options={"g": "1"})
        stream.width, stream.height, stream.pix_fmt = 64, 48, "yuv420p"
        audio = film.add_stream("aac", rate=48_000, layout="mono") if sound else None
        for _ in range(25 * seconds):
            image = rng.integers(0, 255, (48, 64, 3), np.uint8)
            film.mux(stream.encode(av.VideoFrame.from_ndarray(image, "bgr24")))
        film.mux(stream.encode(None))
        for k in range(25 * sound):
            frame = av.AudioFrame.from_ndarray(np.zeros((1, 1920), np.float32), "fltp", "mono")
            frame.sample_rate, frame.pts = 48_000, 1920 * k
            film.mux(audio.encode(frame))
        if audio:
            film.mux(audio.encode(None))
    return path


def end_of(video):
    last = list(video.frames())[-1]
    return last.time + last.duration


@pytest.mark.parametrize(
    ("name", "options"),
    [("v.mkv", {}), ("v.flv", {}), ("v.mp4", {"movflags": "faststart"}),
     ("v.mov", {"movflags": "faststart"})],
)  # fmt: skip
def test_a_file_that_is_cut_short_is_known_by_the_length_that_it_states(tmp_path, name, options):
    path = noise(tmp_path / name, **options)
    with open_video(path) as video:
        assert not video.cut_short(end_of(video))
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    with open_video(path) as video:
        end = end_of(video)
        assert end == pytest.approx(2, abs=0.3)
        assert video.cut_short(end)


@pytest.mark.parametrize("name", ["v.mkv", "v.mp4", "v.flv"])
def test_sound_that_is_longer_than_the_video_does_not_mean_that_it_is_cut_short(tmp_path, name):
    with open_video(noise(tmp_path / name, seconds=2, sound=6)) as video:
        end = end_of(video)
        assert end == pytest.approx(2, abs=0.1)
        assert not video.cut_short(end)


@pytest.mark.parametrize("damage", ["truncated", "unreadable"])
def test_longer_sound_does_not_hide_that_pictures_are_missing(tmp_path, damage):
    path = noise(tmp_path / "v.mkv", seconds=4, sound=6)
    if damage == "truncated":
        path.write_bytes(path.read_bytes()[: path.stat().st_size // 3])
    with open_video(path) as video:
        assert video.cut_short(end_of(video) if damage == "truncated" else 2.0)


def audio_only(path):
    with wave.open(str(path), "wb") as file:
        file.setparams((1, 2, 8000, 0, "NONE", ""))
        file.writeframes(bytes(16000))
    return path


def truncated(path):
    write_video(path, [QUARTERS] * 50)
    path.write_bytes(path.read_bytes()[:600])
    return path


def text(path):
    path.write_text("this is not a video " * 50)
    return path


@pytest.mark.parametrize(
    ("name", "make", "says"),
    [("a.wav", audio_only, "only audio"), ("cut.mp4", truncated, "cannot be read as a video"),
     (".", lambda path: path, "no such"),
     ("text.mp4", text, "cannot be read as a video"), ("none.mp4", lambda path: path, "no such"),
     ("empty.mp4", lambda path: path.write_bytes(b"") or path, "cannot be read as a video")],
)  # fmt: skip
def test_files_that_are_no_video_are_refused(tmp_path, name, make, says):
    with pytest.raises(InputError, match=says):
        open_video(make(tmp_path / name))


def test_a_video_of_one_frame(tmp_path):
    with open_video(write_video(tmp_path / "v.mp4", [QUARTERS])) as video:
        assert [f.number for f in video.frames()] == [0]


def patched(path, mark, at, form, *values):
    """Write other numbers behind a mark in a file."""
    data = bytearray(path.read_bytes())
    struct.pack_into(form, data, data.index(mark) + len(mark) + at, *values)
    path.write_bytes(bytes(data))
    return path


@pytest.mark.parametrize(
    ("mark", "at", "numbers"),
    [
        (b"stts", 8, [10**9]),  # a billion frames
        (b"stts", 12, [0]),  # no time from one to the next: a rate without end
        (b"stts", 12, [2**31 + 5]),  # back in time
        (b"mdhd", 12, [0]),  # no ticks a second
        (b"mdhd", 16, [2**32 - 1]),  # years long
        (b"stsz", 4, [10, 10**9]),  # a billion frames of ten bytes
        (b"stsz", 8, [10**9]),
        (b"tkhd", 76, [60_000 << 16, 60_000 << 16]),  # shown so large
        (b"mp4v", 24, [60_000 << 16 | 60_000]),  # said to be so large
    ],
)
def test_headers_that_lie(tmp_path, mark, at, numbers):
    path = write_video(tmp_path / "v.mp4", [plain((9 * i, 9, 9)) for i in range(20)])
    patched(path, mark, at, f">{len(numbers)}I", *numbers)
    try:
        with open_video(path) as video:
            times = [frame.time for frame in video.frames()]
            assert max(video.size) <= 64
            assert 0 < video.rate < 1000
    except InputError:
        return
    assert 0 < len(times) <= 20
    assert all(b > a for a, b in itertools.pairwise(times))


@pytest.mark.parametrize("side", [16_000, 60_000])
def test_pictures_beyond_all_size_are_refused_undecoded(tmp_path, side):
    sides = struct.pack("<HH", side, side)
    path = tmp_path / "v.gif"
    path.write_bytes(
        b"GIF89a" + sides + b"\x80\0\0" + bytes(6) + b"\x2c" + bytes(4) + sides
        + b"\0\x02\x02\x44\x01\0\x3b"
    )  # fmt: skip
    with pytest.raises(InputError, match="pixels"):
        open_video(path)


def test_times_that_run_backwards_are_mended(tmp_path):
    path = write_video(tmp_path / "v.mkv", [plain((9 * i, 9, 9)) for i in range(20)])
    countdown = itertools.count(25, -1)
    block = re.compile(rb"(\xa3(?:[\x80-\xff]|[\x40-\x7f].)\x81)..([\x00\x80])", re.S)
    data = block.sub(
        lambda found: found[1] + struct.pack(">h", 40 * next(countdown)) + found[2],
        path.read_bytes(),
    )
    assert next(countdown) == 5  # all of them were turned around
    path.write_bytes(data)
    with open_video(path) as video:
        times = [frame.time for frame in video.frames()]
    assert len(times) == 20
    assert all(b > a for a, b in itertools.pairwise(times))


def test_a_stream_without_times_gets_some(tmp_path):
    path = write_video(tmp_path / "v.h264", [plain((9, 9, 9))] * 20, codec="libx264")
    with open_video(path) as video:
        np.testing.assert_allclose([f.time for f in video.frames()], np.arange(20) / 25, atol=1e-6)
        assert video.mended


def test_a_stream_without_decoder_is_refused(tmp_path):
    path = write_video(tmp_path / "v.mkv", [plain((9, 9, 9))] * 3)
    path.write_bytes(path.read_bytes().replace(b"V_MPEG4/ISO/ASP", b"V_NOBODY/KNOWSI"))
    with pytest.raises(InputError, match="no decoder for its video stream"):
        open_video(path)
