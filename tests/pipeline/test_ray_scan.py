"""Catalogues on a Ray cluster of two nodes, some of which is killed."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import cv2
import numpy as np
import pytest

from castlist import InputError, save_model, shipped_model
from castlist.cast.folder import TRACKS
from castlist.pipeline.catalogue import Entry, find_videos, scan_all
from castlist.pipeline.ray_scan import scan_on_ray
from castlist.pipeline.scan_settings import ScanSettings
from castlist.video.frames import open_video
from castlist.video.weights import fetch
from datasets.small_videos import plain, write_video
from datasets.synthetic_casts import made_video, write_film
from tests.pipeline.test_scan import files
from tests.programs import run_castlist as castlist
from tests.rays import kill_a_worker, needs_ray, nodes

TASK = "_scan_entry"


def catalogue(portraits: Path, folder: Path, count: int) -> Path:
    """Make videos of a second or two: two people after each other, or side by side.

    They are two: a cut from a person to the same picture of that person is no other shot.
    """
    people = []
    for clip in sorted(portraits.glob("*.mp4")):
        with open_video(clip) as video:
            frames = zip(video.frames(), range(30), strict=False)
            people.append([cv2.resize(frame.image(), (320, 240)) for frame, _ in frames])
    for k in range(count):
        a, b = people[k % len(people)], people[(k + 1 + k // len(people) % 3) % len(people)]
        a, b = a[k % 5 :], b[k % 3 :]
        beside = [np.hstack(both) for both in zip(a, b, strict=False)]
        write_video(folder / f"{k:02d}.mp4", beside if k % 3 == 0 else a + b)
    return folder


def scanned_as_here(made, videos: Path, tmp_path: Path, harm) -> None:
    """Scan on the cluster while harm is done; hold what came out against a scan here."""
    finished: dict[Path, int] = {}

    def progress(stage, done, total):
        for path in (tmp_path / "there").glob(f"*/{TRACKS}"):
            if (path.parent / "report.html").is_file():
                finished.setdefault(path, path.stat().st_mtime_ns)
        harm(done)

    entries = find_videos([videos], tmp_path / "there")
    outcomes = scan_on_ray(entries, ScanSettings(), progress=progress)
    assert [outcome.entry for outcome in outcomes] == entries
    assert not [outcome.failed for outcome in outcomes if outcome.failed]
    assert {path: path.stat().st_mtime_ns for path in finished} == finished  # nothing twice
    here = scan_all(find_videos([videos], tmp_path / "here"), ScanSettings())
    assert [outcome.summary["counts"]["tracks"] for outcome in here] == [2] * len(entries)
    for one, other in zip(here, outcomes, strict=True):
        assert files(other.entry.folder) == files(one.entry.folder)
        assert other.summary["characters"] == one.summary["characters"]


@pytest.mark.slow
def test_a_worker_killed_in_mid_run(portraits, tmp_path):
    killed = []

    def harm(done):
        if done == 1 and not killed:
            killed.append(kill_a_worker(made, TASK))

    (tmp_path / "videos").mkdir()
    with nodes(1, 1) as made:
        scanned_as_here(made, catalogue(portraits, tmp_path / "videos", 4), tmp_path, harm)
    assert killed


@pytest.mark.slow
def test_forty_videos_with_workers_killed_and_a_node_removed(portraits, tmp_path):
    killed, removed = [], []

    def harm(done):
        if done >= 6 * (len(killed) + 1) and len(killed) < 3:
            killed.append(kill_a_worker(made, TASK))
        if done >= 20 and not removed:
            removed.append(made.worker_nodes.copy().pop())
            made.remove_node(removed[0], allow_graceful=False)
        if done >= 25 and len(removed) == 1:
            removed.append(made.add_node(num_cpus=1))

    (tmp_path / "videos").mkdir()
    with nodes(1, 1) as made:
        scanned_as_here(made, catalogue(portraits, tmp_path / "videos", 40), tmp_path, harm)
    assert len(killed) == 3
    assert len(removed) == 2


@pytest.mark.slow
def test_the_command_line_on_ray(tmp_path):
    needs_ray()
    write_video(tmp_path / "grey.mp4", [plain((90, 90, 90), (320, 180))] * 10)
    (tmp_path / "text.mp4").write_text("not a video")
    done = castlist("scan", "--ray", tmp_path, code=2)
    assert "grey.mp4" in done.stdout
    assert "text.mp4: cannot be read as a video" in done.stderr
    assert "1 of 2 videos could not be scanned" in done.stderr
    assert (tmp_path / "grey.cast" / "report.html").is_file()
    shutil.copy(tmp_path / "grey.mp4", tmp_path / "text.mp4")
    assert "2 videos" in castlist("scan", tmp_path, "--ray").stdout


@pytest.mark.slow
def test_relative_paths(tmp_path, monkeypatch):
    """The current folder of workers is not that of the process that sends them videos."""
    tracks = made_video(people=2, each=1)
    write_film(tmp_path / "film.mp4", tracks)
    faces = zip(tracks.track_of_face, tracks.time, tracks.box, strict=True)
    (tmp_path / "boxes.txt").write_text(
        "".join(
            f"{round(5 * time) + 1},{row + 1},{x + 1},{y + 1},{w},{h},1,-1,-1,-1\n"
            for row, time, (x, y, w, h) in faces
        )
    )
    shutil.copy(fetch("sface-tv"), tmp_path / "SFace-TV.onnx")
    save_model(shipped_model(), tmp_path / "mine.safetensors")
    settings = ScanSettings(
        describer="SFace-TV.onnx", tracks=Path("boxes.txt"), model=Path("mine.safetensors")
    )
    with nodes(1) as made:
        ray = needs_ray()
        ray.shutdown()
        monkeypatch.chdir(tmp_path)
        entries = find_videos([Path("film.mp4")], Path("out"))
        (outcome,) = scan_on_ray(entries, settings, address=made.address)
    assert not outcome.failed
    assert outcome.summary["counts"]["tracks"] == len(tracks)
    assert outcome.entry == Entry(Path("film.mp4"), Path("out/film.cast"))
    assert (tmp_path / "out" / "film.cast" / "report.html").is_file()


def test_a_cluster_that_is_not_there(tmp_path):
    needs_ray()
    write_video(tmp_path / "grey.mp4", [plain((90, 90, 90), (320, 180))])
    with pytest.raises(InputError, match="no Ray cluster at 127.0.0.1:1 "):
        scan_on_ray(find_videos([tmp_path]), ScanSettings(), address="127.0.0.1:1")
    with pytest.raises(InputError, match="address is host:port"):
        scan_on_ray(find_videos([tmp_path]), ScanSettings(), address="somewhere")


def test_without_ray_it_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    write_video(tmp_path / "grey.mp4", [plain((90, 90, 90), (320, 180))])
    with pytest.raises(InputError, match=r"pip install 'castlist\[ray\]'"):
        scan_on_ray(find_videos([tmp_path]), ScanSettings())
