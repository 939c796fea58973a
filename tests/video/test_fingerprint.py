"""The same video is recognised under any name and in any container, and another cut is not."""

from __future__ import annotations

import json
import os
import shutil
import time

import av
import numpy as np
import pytest

from castlist.video.fingerprint import Fingerprint, difference, difference_from, fingerprint
from castlist.video.frames import open_video
from datasets.small_videos import write_video


def film(path, shots, seconds=4, fps=5, codec="libx264", **options):
    """Write a video of shots, each a picture of its own that moves a little."""
    images = []
    for shot in shots:
        rng = np.random.default_rng(shot)
        blocks = rng.integers(0, 255, (6, 8, 3), np.uint8)
        picture = np.kron(blocks, np.ones((20, 20, 1), np.uint8))
        images += [np.roll(picture, k, axis=1) for k in range(seconds * fps)]
    return write_video(path, images, fps, codec, **{"g": "10", **options})


def rewrap(path, out):
    """Put the same packets into another container, sound or no sound."""
    with av.open(str(path)) as source, av.open(str(out), "w") as target:
        stream = source.streams.video[0]
        copy = target.add_stream_from_template(stream)
        for packet in source.demux(stream):
            if packet.dts is not None:
                packet.stream = copy
                target.mux(packet)
    return out


def differs(path, other):
    """Say how a video differs from another, as a scan would."""
    with open_video(other) as video:
        before = Fingerprint.from_json(json.loads(json.dumps(fingerprint(video).to_json())))
    with open_video(path) as video:
        said = difference_from(video, fingerprint(video), before)
        assert video.damaged == 0
        next(video.frames())
    return said


SHORT, LONG = range(3), range(12)  # decoded as a whole; looked at here and there


@pytest.fixture(scope="module")
def films(tmp_path_factory):
    home = tmp_path_factory.mktemp("films")
    return {len(shots): film(home / f"{len(shots)}.mp4", shots) for shots in (SHORT, LONG)}


@pytest.mark.parametrize("shots", [SHORT, LONG], ids=["short", "long"])
def test_a_copy_is_the_same_video_under_another_name_and_date(films, shots, tmp_path):
    copy = shutil.copyfile(films[len(shots)], tmp_path / "other.mp4")
    os.utime(copy, (1, 1))
    with open_video(copy) as one, open_video(films[len(shots)]) as other:
        assert fingerprint(one) == fingerprint(other)
        assert difference(fingerprint(one), fingerprint(other)) == ""


@pytest.mark.parametrize("suffix", ["mov", "mkv", "ts", "flv"])
@pytest.mark.parametrize("shots", [SHORT, LONG], ids=["short", "long"])
def test_another_container_holds_the_same_video(films, shots, suffix, tmp_path):
    path = films[len(shots)]
    assert differs(rewrap(path, tmp_path / f"v.{suffix}"), path) == ""
    assert differs(path, tmp_path / f"v.{suffix}") == ""


@pytest.mark.parametrize("shots", [SHORT, LONG], ids=["short", "long"])
def test_the_same_cut_encoded_again_is_the_same_video(films, shots, tmp_path):
    again = film(tmp_path / "v.mp4", shots, g="17", crf="38")
    assert differs(again, films[len(shots)]) == ""


@pytest.mark.parametrize(
    ("cut", "says"),
    [
        ([0, 1, 2, 3, 5, 4, 6, 7, 8, 9, 10, 11], "its frame at 0:16 is different"),
        ([0, 1, 2, 3, 5, 6, 7, 8, 9, 10, 11, 11], "its frame at 0:16 is different"),
        ([0, 1, 2, 3, 5, 6, 7, 8, 9, 10, 11], "it lasts 0:44, not 0:48"),
        (range(20, 32), "its frame at 0:00 is different"),
    ],
)
@pytest.mark.parametrize("gop", ["10", "7"])
def test_another_cut_is_another_video(films, cut, says, gop, tmp_path):
    assert differs(film(tmp_path / "v.mp4", cut, g=gop), films[12]) == says
    assert differs(rewrap(tmp_path / "v.mp4", tmp_path / "v.mkv"), films[12]) == says


def test_a_short_cut_with_one_key_frame_is_another_video(films, tmp_path):
    one = film(tmp_path / "1.mp4", [0, 1, 2], g="1000", sc_threshold="0")
    other = film(tmp_path / "2.mp4", [0, 2, 1], g="1000", sc_threshold="0")
    assert differs(other, one) == "its frame at 0:04 is different"
    assert differs(one, films[3]) == ""


def test_frames_are_counted_where_the_file_tells_them(films, tmp_path):
    one = write_video(tmp_path / "1.mp4", [np.zeros((48, 64, 3), np.uint8)] * 50)
    other = write_video(tmp_path / "2.mp4", [np.zeros((48, 64, 3), np.uint8)] * 51)
    assert differs(one, other) == "it has 50 frames, not 51"


def test_raw_streams_are_identified_by_their_size(films, tmp_path):
    one, other = (rewrap(path, tmp_path / f"{n}.h264") for n, path in films.items())
    assert differs(one, other).startswith("its file has")
    assert differs(one, one) == ""


def test_a_long_video_is_identified_in_well_under_a_second(films, tmp_path):
    """An hour of key frames every two seconds."""
    with av.open(str(films[12])) as source:
        packets = [p for p in source.demux(video=0) if p.dts is not None]
        with av.open(str(tmp_path / "hour.mp4"), "w") as target:
            copy = target.add_stream_from_template(source.streams.video[0])
            length = int(48 / packets[0].time_base)
            for _ in range(75):
                for packet in packets:
                    packet.stream = copy
                    target.mux(packet)
                    packet.pts, packet.dts = packet.pts + length, packet.dts + length
                    packet.time_base = source.streams.video[0].time_base
    with open_video(tmp_path / "hour.mp4") as video:
        assert video.duration == pytest.approx(3600, abs=1)
        began = time.perf_counter()
        found = fingerprint(video)
        assert time.perf_counter() - began < 1
    assert 8 <= len(found.pictures) <= 16
    assert len(json.dumps(found.to_json())) < 5000


@pytest.mark.parametrize(
    "change",
    [
        {"seconds": "1"}, {"frames": None}, {"size": -1}, {"seconds": float("inf")},
        {"pictures": [[0.0, "AAAA"]]}, {"pictures": [[0.0]]}, {"pictures": 3},
        {"pictures": [[None, "A" * 192]]},
    ],
)  # fmt: skip
def test_what_is_no_fingerprint_is_none(change):
    look = "A" * 192
    whole = {"seconds": 1.0, "frames": 2, "size": 3, "pictures": [[0.0, look]]}
    assert Fingerprint.from_json(whole).pictures == ((0.0, bytes(144)),)
    assert Fingerprint.from_json({**whole, **change}) is None
    assert Fingerprint.from_json(None) is None
