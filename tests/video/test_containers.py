from __future__ import annotations

import os
import shutil
from fractions import Fraction

import av
import cv2
import pytest
from PIL import Image

from castlist import InputError
from castlist.video.frames import open_video
from datasets.small_videos import plain, write_video


def colours(path) -> list[int]:
    with open_video(path) as video:
        return [int(frame.image().mean()) for frame in video.frames()]


@pytest.mark.parametrize(
    "name", ["Alien: Covenant.mp4", "http://x.mp4", "concat:a|b.mp4", "-i.mp4"]
)
def test_a_name_is_no_address(tmp_path, name, monkeypatch):
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    write_video(tmp_path / "v.mp4", [plain((9, 9, 9))] * 3).rename(path)
    assert len(colours(path)) == 3
    monkeypatch.chdir(tmp_path)
    assert len(colours(name)) == 3
    with pytest.raises(InputError, match="no such video"):
        open_video(f"file:{name}")


def test_a_name_need_not_be_text(tmp_path):
    path = os.path.join(os.fsencode(tmp_path), b"\xff.mp4")
    write_video(tmp_path / "v.mp4", [plain((9, 9, 9))] * 3)
    try:
        shutil.copy(tmp_path / "v.mp4", path)
    except OSError:
        pytest.skip("names are text here")
    assert len(colours(os.fsdecode(path))) == 3


def test_a_name_is_no_pattern(tmp_path):
    for name, grey in (("%d.png", 200), ("0.png", 10), ("1.png", 10)):
        encoded = cv2.imencode(".png", plain((grey, grey, grey)))[1]
        (tmp_path / name).write_bytes(encoded.tobytes())
    assert colours(tmp_path / "%d.png") == [200]


PLAYLISTS = {
    "film.mp4": "ffconcat version 1.0\nfile v.ts\n",
    "film.ffconcat": "ffconcat version 1.0\nfile v.ts\n",
    "film.m3u8": "#EXTM3U\n#EXT-X-TARGETDURATION:2\n#EXT-X-MEDIA-SEQUENCE:0\n#EXTINF:1,\nv.ts\n",
    "film.sdp": "v=0\no=- 0 0 IN IP4 127.0.0.1\ns=x\nc=IN IP4 127.0.0.1\nt=0 0\n"
    "m=video 5004 RTP/AVP 96\na=rtpmap:96 H264/90000\n",
}


@pytest.mark.parametrize("name", PLAYLISTS)
def test_a_file_names_no_other(tmp_path, name):
    write_video(tmp_path / "v.ts", [plain((9, 9, 9))] * 25, codec="libx264")
    (tmp_path / name).write_text(PLAYLISTS[name])
    with pytest.raises(InputError, match="give the video itself"):
        open_video(tmp_path / name)


@pytest.mark.parametrize(
    ("suffixes", "codec", "pixels"),
    [
        ("mp4 mov m4v 3gp 3g2 mkv avi asf nut", "mpeg4", "yuv420p"),
        ("ts m2ts mts flv f4v h264", "libx264", "yuv420p"),
        ("mpg mpeg vob mxf m2v", "mpeg2video", "yuv420p"),
        ("webm ivf ogv ogg", "libvpx", "yuv420p"),
        ("wmv", "wmv2", "yuv420p"),
        ("hevc", "libx265", "yuv420p"),
        ("rm", "rv10", "yuv420p"),
        ("swf", "flv1", "yuv420p"),
        ("dv", "dvvideo", "yuv420p"),
        ("y4m", "wrapped_avframe", "yuv420p"),
        ("mjpeg", "mjpeg", "yuvj420p"),
        ("gif", "gif", "rgb8"),
        ("apng", "apng", "rgb24"),
    ],
)
def test_what_holds_videos_is_read(tmp_path, suffixes, codec, pixels):
    size = (720, 576) if codec == "dvvideo" else (176, 144)
    images = [plain((9 * i, 99, 9), size) for i in range(12)]
    for suffix in suffixes.split():
        path = tmp_path / f"v.{suffix}"
        options = {"x265-params": "log-level=none"} if codec == "libx265" else {}
        write_video(path, images, codec=codec, pixels=pixels, **options)
        assert len(colours(path)) == 12, suffix


def write_streams(path, sizes, frames=(5, 5)):
    """Write a file with a video stream of each size."""
    with av.open(str(path), "w") as container:
        streams = []
        for width, height in sizes:
            stream = container.add_stream("mpeg4", rate=25)
            stream.width, stream.height, stream.pix_fmt = width, height, "yuv420p"
            streams.append(stream)
        for stream, size, count in zip(streams, sizes, frames, strict=True):
            for k in range(count):
                frame = av.VideoFrame.from_ndarray(plain((9, 9, 9), size), "bgr24")
                frame.pts, frame.time_base = k, Fraction(1, 25)
                container.mux(stream.encode(frame.reformat(format="yuv420p")))
            container.mux(stream.encode(None))
    return path


@pytest.mark.parametrize("suffix", ["mp4", "mkv"])
def test_of_several_streams_the_largest_is_taken(tmp_path, suffix):
    path = write_streams(tmp_path / f"v.{suffix}", [(64, 36), (320, 180)])
    with open_video(path) as video:
        assert video.size == (320, 180)
        assert len(list(video.frames())) == 5
    path = write_streams(tmp_path / f"w.{suffix}", [(320, 180), (64, 36)])
    with open_video(path) as video:
        assert video.size == (320, 180)


def test_a_stream_of_one_picture_is_not_taken_for_the_video(tmp_path):
    path = write_streams(tmp_path / "v.mp4", [(640, 360), (320, 180)], frames=(1, 5))
    with open_video(path) as video:
        assert video.size == (320, 180)


def test_an_animated_webp_is_refused_for_what_it_is(tmp_path):
    first, *rest = [Image.new("RGB", (64, 48), (40 * k, 99, 9)) for k in range(3)]
    first.save(tmp_path / "one.webp")
    assert len(colours(tmp_path / "one.webp")) == 1
    first.save(tmp_path / "three.webp", save_all=True, append_images=rest)
    with pytest.raises(InputError, match="three.webp: animated WebP.*convert it to MP4"):
        open_video(tmp_path / "three.webp")
