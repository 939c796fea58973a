"""The queue with real worker processes that scan real videos."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from castlist.cast.corrections import Corrections
from castlist.library.scan_queue import Job, ScanQueue
from castlist.library.schemas import ScanOptions
from castlist.pipeline.run_manifest import TRACKING
from castlist.pipeline.scan import PARTS
from datasets.small_videos import write_video


@pytest.fixture
def queues(tmp_path):
    """Return a function that opens the queue of the file; all are closed at the end."""
    opened = []

    def make():
        opened.append(ScanQueue(tmp_path / "queue.json"))
        return opened[-1]

    yield make
    for queue in opened:
        queue.close()


@pytest.fixture
def film(portraits, tmp_path):
    """A video of three seconds with one face."""
    return Path(shutil.copy(portraits / "guido.mp4", tmp_path / "guido.mp4"))


@pytest.fixture
def broken(tmp_path):
    """A file that is no video, whose scan fails at once."""
    path = tmp_path / "broken.mp4"
    path.write_bytes(b"no video")
    return path


@pytest.fixture(scope="module")
def noise(tmp_path_factory):
    """A video in which nobody is found, and each frame must be searched: four minutes of noise."""
    rng = np.random.default_rng(0)
    shots = [rng.integers(0, 255, (90, 160, 3), np.uint8) for _ in range(20)]
    images = (
        np.roll(shot, k, 1).repeat(4, 0).repeat(4, 1) // (1 + number % 3)
        for number, shot in enumerate(shots)
        for k in range(60)
    )
    return write_video(tmp_path_factory.mktemp("noise") / "long.mp4", images, 5)


@pytest.fixture
def long_film(noise, tmp_path):
    """A video that takes longer than a test."""
    return Path(shutil.copy(noise, tmp_path / "long.mp4"))


def cast_of(video):
    return video.with_suffix(".cast")


def add(queue, *videos, **options):
    queue.add([(video, cast_of(video)) for video in videos], ScanOptions(**options))


def states(queue):
    return {job.video.stem: job.state for job in queue.jobs()}


@pytest.mark.slow  # tests/library/test_browser.py scans too
def test_a_video_is_scanned_and_leaves_the_queue(queues, film, eventually):
    queue = queues()
    add(queue, film, characters=1)
    stages = set()
    eventually(lambda: stages.update(job.stage for job in queue.jobs()) or not queue.jobs())
    assert TRACKING in stages
    with Corrections(cast_of(film)) as cast:
        assert len(cast.cast.characters) == 1
        assert cast.scanned.run["settings"]["n_characters"] == 1


def test_nothing_is_imported_from_the_current_folder(
    queues, broken, tmp_path, monkeypatch, eventually
):
    """It may be a stranger's."""
    for name in ("json", "numpy", "castlist"):
        (tmp_path / f"{name}.py").write_text("open('imported', 'w')")
    monkeypatch.chdir(tmp_path)
    queue = queues()
    add(queue, broken)
    eventually(lambda: states(queue) == {"broken": "failed"})
    assert "cannot be read as a video" in queue.jobs()[0].reason
    assert not (tmp_path / "imported").exists()


def test_a_scan_whose_video_is_gone_is_forgotten(queues, broken, eventually):
    queue = queues()
    add(queue, broken)
    eventually(lambda: states(queue) == {"broken": "failed"})
    queue.forget_missing()
    assert states(queue) == {"broken": "failed"}
    broken.unlink()
    queue.forget_missing()
    assert queue.jobs() == []


def test_a_paused_scan_does_not_hold_up_the_next(queues, long_film, broken, eventually):
    queue = queues()
    add(queue, long_film, broken)
    eventually(lambda: (cast_of(long_film) / PARTS).is_dir())
    queue.pause([long_film])
    assert states(queue)["long"] == "paused"
    eventually(lambda: states(queue) == {"long": "paused", "broken": "failed"})
    queue.resume([long_film])
    eventually(lambda: queue.jobs()[0].stage == TRACKING)
    queue.cancel([long_film])


@pytest.mark.slow
def test_pause_keeps_the_work_and_resume_continues_it(queues, long_film, eventually):
    queue = queues()
    add(queue, long_film)
    parts = cast_of(long_film) / PARTS
    eventually(lambda: list(parts.glob("*.npz")))
    queue.pause([long_film])
    assert states(queue) == {"long": "paused"}
    kept = {path.name: path.stat().st_mtime_ns for path in parts.glob("*.npz")}
    assert kept
    time.sleep(0.5)
    assert {path.name: path.stat().st_mtime_ns for path in parts.glob("*.npz")} == kept
    queue.resume([long_film])
    eventually(lambda: not queue.jobs())
    run = json.loads((cast_of(long_film) / "run.json").read_text())
    assert run["stages"][TRACKING]["resumed_at"] > 0


def test_cancel_removes_what_was_begun_and_nothing_else(queues, long_film, film, eventually):
    queue = queues()
    add(queue, long_film, film)
    eventually(lambda: (cast_of(long_film) / PARTS).is_dir())
    queue.cancel([long_film, film])
    assert queue.jobs() == []
    assert not cast_of(long_film).exists()
    assert not cast_of(film).exists()


@pytest.mark.slow
def test_cancel_keeps_an_earlier_cast(queues, film, eventually):
    queue = queues()
    add(queue, film)
    eventually(lambda: not queue.jobs())
    before = {path.name for path in cast_of(film).iterdir()}
    add(queue, film, min_face=20)  # other settings: tracked again
    eventually(lambda: states(queue)["guido"] == "scanning" and queue.jobs()[0].stage == TRACKING)
    queue.cancel([film])
    assert {path.name for path in cast_of(film).iterdir()} == before
    Corrections(cast_of(film)).close()


def test_a_failure_has_its_reason_and_the_next_is_scanned(queues, film, broken, eventually):
    queue = queues()
    add(queue, broken, film)
    eventually(lambda: states(queue) == {"broken": "failed"})
    assert "cannot be read as a video" in queue.jobs()[0].reason
    assert cast_of(film).is_dir()
    queue.resume([broken])  # tries again
    eventually(lambda: states(queue) == {"broken": "failed"})


@pytest.mark.skipif(os.name != "posix", reason="sends a signal")
def test_a_worker_that_is_killed_says_so(queues, long_film, eventually):
    queue = queues()
    add(queue, long_film)
    eventually(lambda: queue.jobs()[0].stage)
    queue._process.send_signal(signal.SIGKILL)
    eventually(lambda: states(queue) == {"long": "failed"})
    assert "the system ended the scan" in queue.jobs()[0].reason


def test_after_a_restart_scans_are_paused(queues, broken, film, long_film, eventually):
    queue = queues()
    add(queue, broken, fast=True)
    eventually(lambda: states(queue) == {"broken": "failed"})
    add(queue, long_film, film, characters=1)
    eventually(lambda: (cast_of(long_film) / PARTS).is_dir())
    queue.close()
    again = queues()
    assert states(again) == {"broken": "failed", "long": "paused", "guido": "paused"}
    assert "castlist was stopped" in again.jobs()[1].reason
    assert (again.jobs()[0].options.fast, again.jobs()[2].options.characters) == (True, 1)
    again.resume([film])
    eventually(lambda: again.jobs()[2].stage == TRACKING)
    assert states(again)["long"] == "paused"


@pytest.mark.parametrize("content", ["", "{", '{"jobs": 3}', '{"jobs": [1, {"video": "a"}]}'])
def test_a_damaged_file_is_an_empty_queue(queues, tmp_path, content):
    (tmp_path / "queue.json").write_text(content)
    assert queues().jobs() == []


def test_waiting_scans_can_be_ordered(queues, long_film, tmp_path, eventually):
    others = [tmp_path / f"{name}.mp4" for name in "abc"]
    queue = queues()
    add(queue, long_film, *others)
    eventually(lambda: states(queue)["long"] == "scanning")
    order = lambda: "".join(job.video.stem[0] for job in queue.jobs())  # noqa: E731
    queue.move([others[2]], -1)
    assert order() == "lacb"
    queue.move([others[2]], -1)
    queue.move([others[2]], -1)  # the one that runs stays the first
    assert order() == "lcab"
    queue.move([others[2], others[0]], 1)
    assert order() == "lbca"
    queue.cancel([long_film, *others])


def test_time_left_is_what_the_speed_so_far_gives(monkeypatch):
    now = 100.0
    monkeypatch.setattr("castlist.library.scan_queue.time.monotonic", lambda: now)
    job = Job("a.mp4", "a.cast")
    job.report(TRACKING, 40, 100)  # resumed at 40
    assert job.seconds_left is None
    now = 110.0
    job.report(TRACKING, 60, 100)
    assert (job.share, job.seconds_left) == (0.6, 20.0)


@pytest.mark.skipif(os.name != "posix", reason="sends a signal")
def test_a_worker_ends_with_its_server(long_film, tmp_path, eventually):
    """Also if the server is killed: nobody is left who could stop the scan."""
    program = (
        "import sys, time\nfrom pathlib import Path\n"
        "from castlist.library.scan_queue import ScanQueue\n"
        "from castlist.library.schemas import ScanOptions\n"
        "queue = ScanQueue(Path(sys.argv[1]))\n"
        "queue.add([(Path(sys.argv[2]), Path(sys.argv[3]))], ScanOptions())\n"
        "while not queue.jobs()[0].stage: time.sleep(.02)\n"
        "print(queue._process.pid, flush=True)\n"
        "time.sleep(100)\n"
    )
    words = [tmp_path / "queue.json", long_film, cast_of(long_film)]
    with subprocess.Popen(
        [sys.executable, "-c", program, *map(str, words)], stdout=subprocess.PIPE, encoding="utf-8"
    ) as server:
        worker = int(server.stdout.readline())
        server.kill()
    eventually(lambda: not _runs(worker))


def _runs(process):
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    with open(f"/proc/{process}/stat") as file:  # a process that nobody waits for is a zombie
        return file.read().split()[2] != "Z"
