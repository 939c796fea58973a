"""A video whose sound begins first: times by the packets of its file, which players count from."""

from __future__ import annotations

import re

import av
import pytest

from castlist.export.timeline import timelines
from castlist.export.write import FORMATS, To, export_cast
from castlist.handover.blur import write_blurred
from castlist.handover.voices import match_voices, read_rttm
from castlist.pipeline.run_manifest import RunManifest
from castlist.pipeline.scan_settings import ScanSettings
from castlist.video.frames import open_video
from datasets.small_videos import plain, write_with_sound
from tests.export.casts import made_cast, note_video

DELAY, FPS = 2.0, 5
BLACK, WHITE = plain((0, 0, 0)), plain((255, 255, 255))


def white_time(path):
    """Return when the first white picture is shown, from the first packet of the file."""
    with av.open(str(path)) as film:
        first = min(float(p.pts * p.time_base) for p in film.demux() if p.pts is not None)
    with av.open(str(path)) as film:
        white = next(f.time for f in film.decode(video=0) if f.to_ndarray()[0, 0] > 128)
    return white - max(0, first)  # before 0 is what the encoder of the sound adds


@pytest.fixture(scope="module", params=[".mp4", ".mkv", ".ts"])
def late(request, tmp_path_factory):
    """Make a video that is black for 6 s and white for 8 s, and the cast of who is in the white."""
    folder = tmp_path_factory.mktemp("late")
    path = write_with_sound(
        folder / f"v{request.param}", [BLACK] * 30 + [WHITE] * 40, FPS, sound=17, delay=DELAY
    )
    with open_video(path) as video:
        about = RunManifest.open(folder, video, ScanSettings()).content["video"]
        white = next(f.time for f in video.frames() if f.image()[0, 0, 0] > 128)
    assert white == pytest.approx(6, abs=1e-3)
    spans = [(white, white + 7.8, 0)]
    cast = made_cast(folder / "v.cast", FPS, video=path.name, spans=spans, duration=14.0)
    note_video(cast.folder, delay=about["delay"])
    with type(cast)(cast.folder) as corrections:
        yield corrections, path


def test_the_delay_is_known(late):
    cast, path = late
    with open_video(path) as video:
        assert video.delay == pytest.approx(DELAY, abs=0.03)  # the encoder of the sound adds some
    (line,) = timelines(cast)
    assert line.played(6.0) == pytest.approx(white_time(path), abs=1e-3)


@pytest.mark.parametrize(
    ("to", "pattern"),
    [(To.VTT, r"\n00:00:0(\S+) --> "), (To.RTTM, r"SPEAKER v 1 (\S+) "),
     (To.CHAPTERS_VTT, r"\n00:00:0(\S+) --> \S+\nCharacter 1"),
     (To.CHAPTERS_MKV, r"Start>00:00:0([^<]+)<[^\n]+\n[^\n]+Character 1"),
     (To.CHAPTERS, r"START=(\d+)\nEND=\d+\ntitle=Character 1")],
)  # fmt: skip
def test_times_are_those_of_players(late, tmp_path, to, pattern):
    cast, path = late
    (file,) = export_cast(cast, to, tmp_path / f"out{FORMATS[to].suffix}")
    start = float(re.search(pattern, file.read_text())[1]) / (1000 if to == To.CHAPTERS else 1)
    assert start == pytest.approx(white_time(path), abs=0.002)


def test_the_first_chapter_begins_with_the_file(late, tmp_path):
    cast, _ = late
    (file,) = export_cast(cast, To.CHAPTERS, tmp_path / "out.ffmeta")
    times = [int(time) for time in re.findall(r"(?:START|END)=(\d+)", file.read_text())]
    assert times[0] == 0
    assert times[-1] == pytest.approx(1000 * (14 + DELAY), abs=30)
    assert times[1::2][:-1] == times[2::2]


def test_speakers_are_matched_in_the_time_of_the_sound(late, tmp_path):
    cast, path = late
    start = white_time(path)
    (tmp_path / "v.rttm").write_text(f"SPEAKER v 1 {start:.3f} 8.000 <NA> <NA> S1 <NA> <NA>\n")
    (voice,) = match_voices(cast, read_rttm(tmp_path / "v.rttm"))
    assert voice.label == "Character 1"
    assert voice.share == pytest.approx(1, abs=0.01)


def test_a_blurred_film_keeps_the_sound_before_its_pictures(late, tmp_path):
    cast, path = late
    write_blurred(cast, tmp_path / "out.mp4", visible=[1])
    assert white_time(tmp_path / "out.mp4") == pytest.approx(white_time(path), abs=0.002)
    with av.open(str(path)) as source, av.open(str(tmp_path / "out.mp4")) as made:
        packets = [sum(p.size > 0 for p in film.demux(audio=0)) for film in (source, made)]
    assert packets[1] == pytest.approx(packets[0], abs=1)  # without what comes before the start
