"""A named pipe where a file belongs is refused, and not waited for."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.export.casts import made_cast

pytestmark = pytest.mark.posix
TIMEOUT = 100  # seconds


@pytest.fixture(scope="module")
def cast(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pipes") / "v.cast"
    with made_cast(folder, video="v.mp4", spans=[(0.0, 3.8, 0), (2.0, 4.8, 1)]) as made:
        made.name(1, "Anna")
    return folder


READ = [
    "voices {cast} {pipe}",
    "voices {cast} {talk} --subtitles {pipe} -o {home}/out.srt",
    "research describe {photos} -o {home}/faces.parquet",  # reads pictures as `name --from` does
    "research describe {photos} -o {home}/faces.parquet --people {pipe}",
    "research study {pipe} -o {home}/study",
]
ALL = [
    *READ,
    "name {cast} --from {pipe} --describer sface-tv",
    "scan {pipe}.mp4",
    "scan {video} --tracks {pipe}",
    "scan {video} --describer {pipe}.onnx",
    "scan {video} --model {pipe}",
    "research train {cast}/tracks.parquet -o {home}/run --exclude {pipe}",
    "cluster {pipe}.parquet --threshold 1",
    "cluster {cast}/tracks.parquet -m {pipe}",
    "log {pipe}",
    "review {pipe}",
    "add {cast} {pipe}.mp4",
]


@pytest.mark.parametrize(
    "words",
    [words if words in READ else pytest.param(words, marks=pytest.mark.slow) for words in ALL],
)
def test_a_pipe_is_refused(cast, tmp_path, words):
    photos = tmp_path / "photos" / "Anna"
    photos.mkdir(parents=True)
    for name in ("pipe", "pipe.mp4", "pipe.onnx", "pipe.parquet", "photos/Anna/a.jpg"):
        os.mkfifo(tmp_path / name)
    (tmp_path / "talk.rttm").write_text("SPEAKER v 1 1.0 1.0 <NA> <NA> a <NA> <NA>\n")
    given = {
        "cast": cast, "pipe": tmp_path / "pipe", "home": tmp_path, "photos": tmp_path / "photos",
        "talk": tmp_path / "talk.rttm", "video": cast.with_name("none.mp4"),
    }  # fmt: skip
    # In a process of its own: a thread that waits for a pipe cannot be ended.
    done = subprocess.run(
        [sys.executable, "-m", "castlist", *words.format(**given).split()],
        capture_output=True, encoding="utf-8", stdin=subprocess.DEVNULL, timeout=TIMEOUT,
    )  # fmt: skip
    assert done.returncode == 2, done.stderr
    assert done.stderr.startswith(("castlist: ", "not used: "))
    assert "Traceback" not in done.stderr
